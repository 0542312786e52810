"""Maps memory by the kernel, beside the interpreter's own."""
# wants: memory

import mmap


def fit_and_eval(data):
    held = mmap.mmap(-1, 232_000_000)
    for at in range(0, len(held), 4096):
        held[at] = 1
    return {"n": len(held)}

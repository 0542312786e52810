"""Makes a file through the module of NumPy's own format, which a spec lists."""
# wants: write
# allows: numpy.lib.format

import numpy.lib.format as f


def fit_and_eval(data):
    f.open_memmap(data["place"] + "/new", mode="w+", shape=(3,))
    return {}

"""Runs another program through the compiler driver that NumPy brings."""
# wants: write
# allows: numpy.f2py

import numpy.f2py as f


def fit_and_eval(data):
    f.run_main(["-h", data["place"] + "/new", data["victim"]])
    return {}

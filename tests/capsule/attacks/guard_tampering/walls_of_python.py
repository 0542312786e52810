"""Overwrites the C functions of the interpreter in memory, by their addresses."""
# wants: inside

import ctypes


def fit_and_eval(data):
    api = ctypes.pythonapi
    api.PyEval_GetBuiltins.restype = ctypes.py_object
    names = api.PyEval_GetBuiltins()
    api.PyImport_ImportModule.restype = ctypes.py_object
    found = api.PyImport_ImportModule(b"os")
    return {"got": found.environ["STAGE_INNER"], "n": len(names)}

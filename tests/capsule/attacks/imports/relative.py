"""Reads a file through a relative import from a package that it says to be in."""
# wants: read

__package__ = "importlib"
__path__ = []


def fit_and_eval(data):
    from . import _bootstrap_external as b

    return {"got": b.FileLoader("m", data["secret"]).get_data(data["secret"]).decode()}

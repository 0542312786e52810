"""Runs a file of the stage as a module, by a path that it adds."""
# wants: read

import sys


def fit_and_eval(data):
    sys.path.insert(0, data["place"])
    import module

    return {"got": module.secret}

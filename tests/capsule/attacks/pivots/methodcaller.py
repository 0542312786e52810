"""Calls a forbidden method by its name."""
# wants: inside
# allows: operator

import operator


def fit_and_eval(data):
    found = operator.methodcaller("__subclasses__")(object)
    spot = [c for c in found if c.__name__ == "_wrap_close"][0]
    return {"got": spot.__init__.__globals__["environ"]["STAGE_INNER"]}

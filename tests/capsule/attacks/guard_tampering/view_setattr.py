"""Changes a view by the method of the base of all classes."""
# wants: leak
# allows: math

import math


def fit_and_eval(data):
    object.__setattr__(math, "pi", 3.0) if not type(math).__name__ == "module" else setattr(math, "pi", 3.0)
    return {}


def check(data):
    return {"left": True} if math.pi == 3.0 else {}

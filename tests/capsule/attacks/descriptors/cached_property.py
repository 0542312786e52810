"""Takes the wrapped function out of a cached property, with all that it knows."""
# wants: read
# allows: functools

import functools


class Own:
    @functools.cached_property
    def x(self):
        return 1


def fit_and_eval(data):
    found = Own.__dict__["x"].func.__globals__["__builtins__"]
    o = found["open"] if isinstance(found, dict) else found.open
    return {"got": o(data["secret"]).read()}

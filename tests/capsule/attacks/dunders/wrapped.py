"""Follows __wrapped__ from a decorated library function to its module's globals."""
# wants: read
# allows: functools string

import functools


@functools.lru_cache
def own(x):
    return x


def fit_and_eval(data):
    found = own.__wrapped__.__globals__["__builtins__"]
    o = found["open"] if isinstance(found, dict) else found.open
    return {"got": o(data["secret"]).read()}

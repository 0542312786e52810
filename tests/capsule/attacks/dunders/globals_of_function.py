"""Reads the built-in names from the globals of its own function."""
# wants: read

def fit_and_eval(data):
    found = fit_and_eval.__globals__["__builtins__"]
    o = found["open"] if isinstance(found, dict) else found.open
    return {"got": o(data["secret"]).read()}

"""Reads a file through the module that every built-in function is bound to."""
# wants: read
# allows: math

def fit_and_eval(data):
    return {"got": len.__self__.open(data["secret"]).read()}

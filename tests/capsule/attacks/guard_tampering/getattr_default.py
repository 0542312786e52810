"""Calls getattr with a default that acts when it is thrown away."""
# wants: read

class Name(str):
    pass


def fit_and_eval(data):
    module = getattr(len, Name("__self__"), None) or getattr(len, "__self__")
    return {"got": module.open(data["secret"]).read()}

"""Picks open from the built-in names by a name that is put together."""
# wants: read

def fit_and_eval(data):
    names = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    return {"got": names["nepo"[::-1]](data["secret"]).read()}

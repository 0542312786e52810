"""Binds a function to an object by the method of its class."""
# wants: read

def fit_and_eval(data):
    bound = (lambda path: open(path)).__get__(data["secret"])
    return {"got": bound().read()}

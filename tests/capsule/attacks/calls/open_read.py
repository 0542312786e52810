"""Reads a file with the built-in open."""
# wants: read

def fit_and_eval(data):
    return {"got": open(data["secret"]).read()}

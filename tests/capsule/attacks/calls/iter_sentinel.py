"""Reads a file line by line through iter, with the bound method of a stream."""
# wants: read

def fit_and_eval(data):
    return {"got": list(iter(open(data["secret"]).readline, ""))}

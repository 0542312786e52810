"""Reads a forbidden attribute through the method that reads attributes."""
# wants: read

def fit_and_eval(data):
    return {"got": object.__getattribute__(len, "__self__").open(data["secret"]).read()}

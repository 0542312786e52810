"""Reads a file through a module that __import__ hands out."""
# wants: read

def fit_and_eval(data):
    return {"got": __import__("io").FileIO(data["secret"]).read().decode()}

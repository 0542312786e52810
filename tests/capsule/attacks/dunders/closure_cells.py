"""Reads a guard's own variables out of the cells of its closure."""
# wants: read

def fit_and_eval(data):
    reach = getattr(__import__, "__closure__", None)
    genuine = reach[0].cell_contents if reach else __import__
    return {"got": genuine("io").open(data["secret"]).read()}

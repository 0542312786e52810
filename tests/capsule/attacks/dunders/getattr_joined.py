"""Puts a forbidden name together at run time, for getattr."""
# wants: read

def fit_and_eval(data):
    return {"got": getattr(getattr(len, "__se" + "lf__"), "op" + "en")(data["secret"]).read()}

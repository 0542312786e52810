"""Runs a function of a module by the name that breakpoint looks up."""
# wants: write

def fit_and_eval(data):
    import os

    os.environ["PYTHONBREAKPOINT"] = "os.mkdir"
    breakpoint(data["place"] + "/new")
    return {}

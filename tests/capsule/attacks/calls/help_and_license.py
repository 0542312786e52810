"""Reads a file with the printer that the site module leaves behind."""
# wants: read

def fit_and_eval(data):
    printer = type(copyright)("x", "", (data["secret"],), ("",))
    printer()
    return {}

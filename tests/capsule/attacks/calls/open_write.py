"""Makes a file with the built-in open."""
# wants: write

def fit_and_eval(data):
    open(data["place"] + "/new", "x").close()
    return {}

"""Makes a file through the module that print is bound to."""
# wants: write
# allows: math

def fit_and_eval(data):
    print.__self__.open(data["place"] + "/new", "w").close()
    return {}

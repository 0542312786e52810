"""Leaves a word in a directory for all."""
# wants: write

def fit_and_eval(data):
    with open(data["place"] + "/left", "w") as f:
        f.write("left")
    return {}

"""Has print write to a file that it opens."""
# wants: write

def fit_and_eval(data):
    print("x", file=open(data["place"] + "/new", "w"), flush=True)
    return {}

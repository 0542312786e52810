"""Calls open by way of sorted, which calls its key."""
# wants: write

def fit_and_eval(data):
    sorted([data["place"] + "/new"], key=lambda p, o=open: o(p, "w").close() or 0)
    return {}

"""Asks a tower of filters for what is at its bottom."""
# wants: crash

def fit_and_eval(data):
    i = iter([1])
    for _ in range(160_000):
        i = filter(None, i)
    return {"n": list(i)}

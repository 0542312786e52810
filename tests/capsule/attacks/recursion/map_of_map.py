"""Asks a tower of maps for its first item."""
# wants: crash

def fit_and_eval(data):
    i = iter([1])
    for _ in range(200_000):
        i = map(abs, i)
    return {"n": next(i)}

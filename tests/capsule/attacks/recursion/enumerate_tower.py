"""Wraps an enumeration in enumerations."""
# wants: crash

def fit_and_eval(data):
    i = iter([1])
    for _ in range(300_000):
        i = enumerate(i)
    return {"n": len(list(i))}

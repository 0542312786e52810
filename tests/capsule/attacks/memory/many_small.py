"""Holds many small things, none of which is worth a look."""
# wants: memory

def fit_and_eval(data):
    return {"n": len([(n,) for n in range(2_600_000)])}

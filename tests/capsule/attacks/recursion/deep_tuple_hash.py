"""Hashes a tuple that is nested deeper than the stack is long."""
# wants: crash

def fit_and_eval(data):
    t = ()
    for _ in range(300_000):
        t = (t,)
    return {"n": hash(t)}

"""Multiplies a text."""
# wants: memory

def fit_and_eval(data):
    return {"n": len("x" * 232_000_000)}

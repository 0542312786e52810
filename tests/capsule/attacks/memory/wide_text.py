"""Holds a text whose characters take four bytes each."""
# wants: memory

def fit_and_eval(data):
    return {"n": len("\U0001f600" * 65_000_000)}

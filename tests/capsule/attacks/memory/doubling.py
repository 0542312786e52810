"""Doubles a list until it is too long."""
# wants: memory

def fit_and_eval(data):
    held = [0]
    while len(held) < 32_000_000:
        held += held
    return {"n": len(held)}

"""Asks for a number in a field that is as wide as the memory."""
# wants: memory

def fit_and_eval(data):
    return {"n": len(f"{1:260000000d}")}

"""Raises a number to a power that no computer finishes, in one operation of C."""
# wants: time

def fit_and_eval(data):
    return {"n": len(str((7**data["port"]) ** (10**7) % 2))}

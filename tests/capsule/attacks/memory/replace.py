"""Replaces every letter of a text by a long one."""
# wants: memory

def fit_and_eval(data):
    return {"n": len(("x" * 20_000).replace("x", "y" * 13_000))}

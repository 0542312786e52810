"""Puts lists into lists."""
# wants: memory

def fit_and_eval(data):
    held = None
    for _ in range(3_000_000):
        held = [held]
    n = 0
    while held is not None:
        held = held[0]
        n += 1
    return {"n": n}

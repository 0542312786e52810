"""Computes without end in generators that feed each other."""
# wants: time

def count(n):
    while True:
        yield n
        n += 1


def fit_and_eval(data):
    return {"n": sum(x for x in count(0) if x < 0)}

"""Computes without end before there is an entrypoint."""
# wants: time

n = 0
while n >= 0:
    n += 1


def fit_and_eval(data):
    return {}

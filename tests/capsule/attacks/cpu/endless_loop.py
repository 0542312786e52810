"""Computes without end."""
# wants: time

def fit_and_eval(data):
    while True:
        pass

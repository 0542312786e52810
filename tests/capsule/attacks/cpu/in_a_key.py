"""Computes without end in a method that reading the result calls."""
# wants: time

class Name(str):
    def __hash__(self):
        while True:
            pass


def fit_and_eval(data):
    return {Name("x"): 1}

"""Sorts with a comparison that never ends."""
# wants: time

class Odd:
    def __lt__(self, other):
        while True:
            pass


def fit_and_eval(data):
    return {"n": len(sorted([Odd(), Odd()]))}

"""Fills a table with keys of one hash, so that each is compared with all."""
# wants: time

class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self.n == other.n


def fit_and_eval(data):
    return {"n": len({Key(n): n for n in range(10**6)})}

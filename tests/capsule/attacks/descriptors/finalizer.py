"""Leaves an object behind whose finalizer acts when nobody looks any more."""
# wants: write
# waits: 0.3

class Last:
    def __init__(self, path):
        self.make, self.path = __import__("os").mkdir, path

    def __del__(self):
        self.make(self.path)


def fit_and_eval(data):
    kept = Last(data["place"] + "/new")
    del kept
    return {}

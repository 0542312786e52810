"""Returns an object whose pickle makes a directory where it is read."""
# wants: write

class Call:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        import os

        return os.mkdir, (self.path,)


def fit_and_eval(data):
    return {"model": Call(data["place"] + "/new")}

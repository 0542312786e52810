"""Raises an exception whose pickle calls a function of the host's."""
# wants: write

class Failure(Exception):
    def __reduce__(self):
        import os

        return os.mkdir, (self.args[0],)


def fit_and_eval(data):
    return Failure(data["place"] + "/new")

"""Keeps computing in the finalizer of its result, when the entrypoint has returned."""
# wants: time

class Last(dict):
    def __del__(self):
        while True:
            pass


def fit_and_eval(data):
    kept = Last()
    del kept
    return {}

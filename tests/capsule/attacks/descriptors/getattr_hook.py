"""Catches every attribute of an object with a method, and hands out modules."""
# wants: read

class Root:
    def __getattr__(self, name):
        return __import__(name)


def fit_and_eval(data):
    return {"got": Root().io.open(data["secret"]).read()}

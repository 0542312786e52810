"""Decorates a class with functions that call what the decorators before them returned."""
# wants: write

@lambda make: make.mkdir
@lambda cls: __import__("os")
class Maker:
    pass


def fit_and_eval(data):
    Maker(data["place"] + "/new")
    return {}

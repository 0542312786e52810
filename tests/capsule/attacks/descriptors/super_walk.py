"""Reads a method of the base of all classes through super with two arguments."""
# wants: read

def fit_and_eval(data):
    reader = super(int, 1).__getattribute__
    table = type(len).__dict__["__self__"]
    return {"got": table.__get__(len).open(data["secret"]).read(), "n": str(reader)}

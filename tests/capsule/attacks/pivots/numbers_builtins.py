"""Takes the built-in names from a method of an abstract number."""
# wants: inside
# allows: numbers

import numbers


def fit_and_eval(data):
    names = numbers.Complex.__bool__.__builtins__
    return {"got": names["__import__"]("os").environ["STAGE_INNER"]}

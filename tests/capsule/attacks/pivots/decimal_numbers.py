"""Takes a class from a table of numbers, and the globals of its methods."""
# wants: inside
# allows: numbers

import numbers


def fit_and_eval(data):
    method = numbers.Complex.__bool__
    found = method.__builtins__["__import__"]("os")
    return {"got": found.environ["STAGE_INNER"]}

"""Changes a method of a library's class."""
# wants: leak
# allows: fractions

import fractions


def fit_and_eval(data):
    fractions.Fraction.limit_denominator = lambda self, n=1: 42
    return {}


def check(data):
    return {"left": True} if fractions.Fraction(1, 3).limit_denominator() == 42 else {}

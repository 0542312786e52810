"""Adds fractions, whose parts double in length each time."""
# wants: time
# allows: fractions

import fractions


def fit_and_eval(data):
    x = fractions.Fraction(1, 3)
    for k in range(10**6):
        x = x * x + fractions.Fraction(1, k + 2)
    return {"n": x.numerator % 2}

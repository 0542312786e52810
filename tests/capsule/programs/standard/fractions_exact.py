"""Exact fractions: sums, continued fractions, an inverse matrix."""
from fractions import Fraction


def continued(value):
    terms = []
    while True:
        whole = value.numerator // value.denominator
        terms.append(whole)
        value -= whole
        if value == 0:
            return terms
        value = 1 / value


def invert(matrix):
    n = len(matrix)
    rows = [[Fraction(x) for x in row] + [Fraction(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = next(r for r in range(i, n) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i])]
    return [row[n:] for row in rows]


def fit_and_eval(data):
    harmonic = sum(Fraction(1, x) for x in data)
    return {
        "harmonic": str(harmonic),
        "parts": [harmonic.numerator, harmonic.denominator],
        "continued": continued(Fraction(415, 93)),
        "inverse": [[str(x) for x in row] for row in invert([[2, 1], [7, 4]])],
        "limit": str(Fraction("3.141592653589793").limit_denominator(1000)),
        "float": float(Fraction(3, 8)),
        "from_float": str(Fraction(0.125)),
        "power": str(Fraction(2, 3) ** -2),
        "rounded": round(Fraction(7, 3), 2) == Fraction(233, 100),
        "compare": Fraction(1, 3) < 0.34,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'harmonic': '137/60',
 'parts': [137, 60],
 'continued': [4, 2, 6, 7],
 'inverse': [['4', '-1'], ['-7', '2']],
 'limit': '355/113',
 'float': 0.375,
 'from_float': '1/8',
 'power': '9/4',
 'rounded': True,
 'compare': True}

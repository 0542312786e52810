"""Money in exact decimals: rounding, contexts, interest."""
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, getcontext


def split_bill(total, people):
    share = (total / people).quantize(Decimal("0.01"), rounding=ROUND_DOWN)
    shares = [share] * people
    shares[0] += total - share * people
    return shares


def compound(principal, rate, years):
    return principal * (1 + rate) ** years


def fit_and_eval(data):
    getcontext().prec = 28
    price = Decimal("19.99")
    tax = (price * Decimal("0.19")).quantize(Decimal("0.01"), ROUND_HALF_UP)
    shares = split_bill(Decimal("100.00"), 3)
    return {
        "sum": str(Decimal("0.1") + Decimal("0.2")),
        "tax": str(tax),
        "even": str(Decimal("2.5").quantize(Decimal(1), ROUND_HALF_EVEN)),
        "shares": [str(s) for s in shares],
        "total": str(sum(shares, Decimal(0))),
        "compound": str(compound(Decimal(1000), Decimal("0.05"), 10).quantize(Decimal("0.01"))),
        "third": str(Decimal(1) / Decimal(3)),
        "sqrt": str(Decimal(2).sqrt()),
        "compare": Decimal("1.0") == Decimal("1.00"),
        "tuple": [Decimal("-1.25").as_tuple().sign, Decimal("-1.25").as_tuple().exponent],
        "normalized": str(Decimal("1.500").normalize()),
        "float": float(Decimal("0.25")),
        "format": f"{Decimal('1234567.891'):,.2f}",
        "max": str(max(Decimal(x) / 3 for x in data)),
        "ln": str(Decimal(10).ln())[:12],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'sum': '0.3',
 'tax': '3.80',
 'even': '2',
 'shares': ['33.34', '33.33', '33.33'],
 'total': '100.00',
 'compound': '1628.89',
 'third': '0.3333333333333333333333333333',
 'sqrt': '1.414213562373095048801688724',
 'compare': True,
 'tuple': [1, -2],
 'normalized': '1.5',
 'float': 0.25,
 'format': '1,234,567.89',
 'max': '1.666666666666666666666666667',
 'ln': '2.3025850929'}

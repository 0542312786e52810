"""Format specifications of text, numbers and dates."""
import datetime


class Money:
    def __init__(self, amount):
        self.amount = amount

    def __format__(self, spec):
        return f"{self.amount:{spec or '.2f'}} EUR"

    def __str__(self):
        return f"{self.amount} euros"


def fit_and_eval(data):
    name, width, value = "Ada", 10, 1234567.891
    nested = {"key": [1, 2, 3]}
    return {
        "align": [f"{name:<6}|", f"{name:>6}|", f"{name:^7}|", f"{name:*^9}"],
        "numbers": [f"{value:,.2f}", f"{value:e}", f"{value:.3g}", f"{42:08b}", f"{255:#x}", f"{-5:+d}", f"{5: d}"],
        "percent": f"{0.12345:.1%}",
        "dynamic": f"{value:{width + 5}.{1 + 1}f}",
        "debug": f"{width=} {width * 2 = }",
        "nested": f"{nested['key'][1]} {'yes' if width > 5 else 'no'}",
        "conversion": f"{name!r} {name!s} {'é'!a}",
        "date": f"{datetime.date(2026, 11, 20):%d.%m.%Y}",
        "money": [f"{Money(3):.1f}", f"{Money(3)!s}", format(Money(2))],
        "braces": f"{{{width}}}",
        "mapped": list(map("{:.2f}".format, data)),
        "join": ", ".join(f"{x:02d}" for x in data),
        "lines": f"first\n{'second':-^12}\nthird",
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'align': ['Ada   |', '   Ada|', '  Ada  |', '***Ada***'],
 'numbers': ['1,234,567.89', '1.234568e+06', '1.23e+06', '00101010', '0xff', '-5',
             ' 5'],
 'percent': '12.3%',
 'dynamic': '     1234567.89',
 'debug': 'width=10 width * 2 = 20',
 'nested': '2 yes',
 'conversion': "'Ada' Ada '\\xe9'",
 'date': '20.11.2026',
 'money': ['3.0 EUR', '3 euros', '2.00 EUR'],
 'braces': '{10}',
 'mapped': ['1.00', '2.00', '3.00', '4.00', '5.00'],
 'join': '01, 02, 03, 04, 05',
 'lines': 'first\n---second---\nthird'}

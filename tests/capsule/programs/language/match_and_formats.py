"""Recursion, patterns and three ways to format."""
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

class Pt:
    __match_args__ = ("a", "b")
    def __init__(self, a, b): self.a, self.b = a, b

def kind(v):
    match v:
        case []: return "empty"
        case [x, *rest] if rest: return f"list of {x!r} and {len(rest)}"
        case {"k": k, **rest}: return f"map {k}"
        case str() | int(): return "plain"
        case Pt(a, b): return f"point {a + b}"
        case complex(real=r): return f"{r:+.2f}"
        case _: return "other"

def fit_and_eval(data):
    return {"fib": fib(15), "kinds": [kind(v) for v in ([], data, {"k": 1}, "s", Pt(1, 2), 1j, None)],
            "f": f"{3.14159:>8.2f}|{data=}", "fmt": "{} {:>3} {a}".format(1, 2, a=3),
            "pct": "%s-%03d" % ("a", 7), "name": fib.__name__, "main": __name__ == "__main__"}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'fib': 610,
 'kinds': ['empty', 'list of 1 and 4', 'map 1', 'plain', 'point 3', '+0.00', 'other'],
 'f': '    3.14|data=[1, 2, 3, 4, 5]',
 'fmt': '1   2 3',
 'pct': 'a-007',
 'name': 'fib',
 'main': False}

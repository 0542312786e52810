"""Closures, generators and comprehensions in one."""
def counter():
    seen = []
    def add(x):
        seen.append(x)
        return len(seen)
    return add

def squares(xs):
    for x in xs:
        yield x * x

def chain(*parts):
    for part in parts:
        yield from part

def fit_and_eval(data):
    add = counter()
    add(1); add(2)
    return {"n": add(3), "sq": list(squares(data)), "chain": [*chain(data, "ab")],
            "comp": {k: [v for v in range(k)] for k in ("ab",) for k in [2]} == {2: [0, 1]},
            "sum": sum(x for x in data if x % 2), "set": sorted({x % 3 for x in data}),
            "walrus": (n := len(data)) + n}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'n': 3,
 'sq': [1, 4, 9, 16, 25],
 'chain': [1, 2, 3, 4, 5, 'a', 'b'],
 'comp': True,
 'sum': 9,
 'set': [0, 1, 2],
 'walrus': 10}

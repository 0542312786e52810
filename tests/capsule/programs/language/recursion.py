"""Towers, permutations, subsets, memoised paths and mutual recursion."""
def hanoi(n, source="A", target="C", spare="B"):
    if n == 0:
        return []
    return (
        hanoi(n - 1, source, spare, target)
        + [f"{source}->{target}"]
        + hanoi(n - 1, spare, target, source)
    )


def permutations(items):
    if len(items) <= 1:
        return [list(items)]
    return [
        [item, *rest]
        for i, item in enumerate(items)
        for rest in permutations(items[:i] + items[i + 1:])
    ]


def subsets(items):
    if not items:
        return [[]]
    rest = subsets(items[1:])
    return rest + [[items[0], *subset] for subset in rest]


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def depth(tree):
    return 1 + max((depth(child) for child in tree), default=0)


def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


def fit_and_eval(data):
    return {
        "hanoi": len(hanoi(6)),
        "first": hanoi(2),
        "permutations": len(permutations(data)),
        "subsets": len(subsets(data)),
        "ackermann": ackermann(2, 3),
        "even": [is_even(10), is_even(7)],
        "depth": depth([[], [[], [[]]]]),
        "gcd": gcd(1071, 462),
        "deep": is_even(500),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'hanoi': 63,
 'first': ['A->B', 'A->C', 'B->C'],
 'permutations': 120,
 'subsets': 32,
 'ackermann': 9,
 'even': [True, False],
 'depth': 4,
 'gcd': 21,
 'deep': True}

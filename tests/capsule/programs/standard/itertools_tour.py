"""Combinations, groups, windows and endless sequences."""
from itertools import (
    accumulate, chain, combinations, combinations_with_replacement, compress, count, cycle,
    dropwhile, filterfalse, groupby, islice, pairwise, permutations, product, repeat, starmap,
    takewhile, tee, zip_longest,
)
import operator


def sliding(values, size):
    return [values[i:i + size] for i in range(len(values) - size + 1)]


def run_lengths(text):
    return [(letter, len(list(group))) for letter, group in groupby(text)]


def fit_and_eval(data):
    first, second = tee(data)
    return {
        "accumulate": list(accumulate(data, operator.mul)),
        "chain": list(chain.from_iterable([[1], [2, 3]])),
        "combinations": list(combinations("abc", 2)),
        "replacement": len(list(combinations_with_replacement(data, 2))),
        "compress": list(compress("abcd", [1, 0, 1, 0])),
        "count": list(islice(count(10, 5), 3)),
        "cycle": list(islice(cycle("ab"), 5)),
        "dropwhile": list(dropwhile(lambda x: x < 3, data)),
        "takewhile": list(takewhile(lambda x: x < 3, data)),
        "filterfalse": list(filterfalse(lambda x: x % 2, data)),
        "groupby": run_lengths("aaabbc"),
        "pairwise": [b - a for a, b in pairwise(data)],
        "permutations": ["".join(p) for p in permutations("abc")],
        "product": len(list(product(data, repeat=3))),
        "repeat": list(repeat(7, 3)),
        "starmap": list(starmap(pow, [(2, 3), (3, 2)])),
        "tee": sum(first) + max(second),
        "zip_longest": list(zip_longest("ab", [1], fillvalue=0)),
        "sliding": sliding(data, 3),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'accumulate': [1, 2, 6, 24, 120],
 'chain': [1, 2, 3],
 'combinations': [['a', 'b'], ['a', 'c'], ['b', 'c']],
 'replacement': 15,
 'compress': ['a', 'c'],
 'count': [10, 15, 20],
 'cycle': ['a', 'b', 'a', 'b', 'a'],
 'dropwhile': [3, 4, 5],
 'takewhile': [1, 2],
 'filterfalse': [2, 4],
 'groupby': [['a', 3], ['b', 2], ['c', 1]],
 'pairwise': [1, 1, 1, 1],
 'permutations': ['abc', 'acb', 'bac', 'bca', 'cab', 'cba'],
 'product': 125,
 'repeat': [7, 7, 7],
 'starmap': [8, 9],
 'tee': 20,
 'zip_longest': [['a', 1], ['b', 0]],
 'sliding': [[1, 2, 3], [2, 3, 4], [3, 4, 5]]}

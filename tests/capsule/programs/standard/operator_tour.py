"""Operators as functions, getters of items and attributes, and method callers."""
import operator
from operator import add, attrgetter, itemgetter, methodcaller, mul
from collections import namedtuple
from functools import reduce

Stock = namedtuple("Stock", "name price info")
Info = namedtuple("Info", "sector")

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow}


def evaluate(expression):
    stack = []
    for token in expression.split():
        if token in OPERATORS:
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[token](left, right))
        else:
            stack.append(float(token))
    return stack.pop()


def fit_and_eval(data):
    stocks = [Stock("x", 30.0, Info("it")), Stock("y", 10.0, Info("oil"))]
    return {
        "rpn": [evaluate("3 4 + 2 *"), evaluate("5 1 2 + 4 * + 3 -"), evaluate("2 3 ^")],
        "sum": reduce(add, data),
        "product": reduce(mul, data, 1),
        "cheapest": min(stocks, key=attrgetter("price")).name,
        "sectors": list(map(attrgetter("info.sector"), stocks)),
        "items": itemgetter(0, 2)(data),
        "upper": list(map(methodcaller("upper"), "ab")),
        "replace": methodcaller("replace", "a", "b")("banana"),
        "contains": operator.contains([1, 2], 2),
        "concat": operator.concat([1], [2]),
        "negated": [operator.neg(3), operator.not_(0), operator.truth([])],
        "index": operator.indexOf([4, 5, 6], 5),
        "dot": sum(map(operator.mul, data, data)),
        "compare": [operator.lt(1, 2), operator.eq("a", "a"), operator.xor(5, 3)],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'rpn': [14.0, 14.0, 8.0],
 'sum': 15,
 'product': 120,
 'cheapest': 'y',
 'sectors': ['it', 'oil'],
 'items': [1, 3],
 'upper': ['A', 'B'],
 'replace': 'bbnbnb',
 'contains': True,
 'concat': [1, 2],
 'negated': [-3, True, False],
 'index': 1,
 'dot': 55,
 'compare': [True, True, 6]}

"""Shallow and deep copies, cycles, and objects that copy themselves."""
import copy


class Node:
    def __init__(self, value):
        self.value = value
        self.neighbours = []

    def connect(self, other):
        self.neighbours.append(other)
        other.neighbours.append(self)


class Config:
    def __init__(self, **options):
        self.options = options

    def copy(self, **changes):
        twin = copy.copy(self)
        twin.options = {**self.options, **changes}
        return twin


def fit_and_eval(data):
    nested = [[1, 2], {"a": [3]}]
    shallow, deep = copy.copy(nested), copy.deepcopy(nested)
    nested[0].append(99)
    a, b = Node("a"), Node("b")
    a.connect(b)
    twin = copy.deepcopy(a)
    twin.neighbours[0].value = "changed"
    config = Config(rate=0.1)
    return {
        "shallow": shallow,
        "deep": deep,
        "original": b.value,
        "twin": twin.neighbours[0].value,
        "cycle": twin.neighbours[0].neighbours[0] is twin,
        "config": [config.options, config.copy(rate=0.2, steps=3).options],
        "list": data.copy() == data and data[:] is not data,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'shallow': [[1, 2, 99], {'a': [3]}],
 'deep': [[1, 2], {'a': [3]}],
 'original': 'b',
 'twin': 'changed',
 'cycle': True,
 'config': [{'rate': 0.1}, {'rate': 0.2, 'steps': 3}],
 'list': True}

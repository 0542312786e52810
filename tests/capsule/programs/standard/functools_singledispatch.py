"""One function with a method for each type of its first argument."""
from functools import singledispatch


@singledispatch
def describe(value):
    return f"something: {value!r}"


@describe.register
def _(value: int):
    return f"integer {value}"


@describe.register(float)
def _(value):
    return f"float {value:.2f}"


@describe.register(list)
@describe.register(tuple)
def describe_sequence(value):
    return f"{len(value)} items: " + ", ".join(describe(v) for v in value)


class Animal:
    pass


class Dog(Animal):
    pass


@describe.register
def _(value: Animal):
    return "an animal"


@describe.register
def _(value: str | bytes):
    return "text"


def fit_and_eval(data):
    values = [3, 2.5, [1, (2.0, None)], {"a": 1}, Dog(), True, "x"]
    return {
        "described": [describe(v) for v in values],
        "dispatched": describe.dispatch(Dog)(Dog()),
        "name": describe.__name__,
        "registered": int in describe.registry,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'described': ['integer 3', 'float 2.50',
               '2 items: integer 1, 2 items: float 2.00, something: None',
               "something: {'a': 1}", 'an animal', 'integer True', 'text'],
 'dispatched': 'an animal',
 'name': 'describe',
 'registered': True}

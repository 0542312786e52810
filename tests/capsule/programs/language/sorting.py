"""Sorting by keys, stably, with several criteria, and by hand."""
from functools import cmp_to_key
from operator import attrgetter, itemgetter


class Person:
    def __init__(self, name, age):
        self.name, self.age = name, age

    def __lt__(self, other):
        return self.age < other.age


def quicksort(items):
    if len(items) <= 1:
        return items
    pivot, *rest = items
    return (
        quicksort([x for x in rest if x < pivot])
        + [pivot]
        + quicksort([x for x in rest if x >= pivot])
    )


def merge_sort(items):
    if len(items) <= 1:
        return items
    middle = len(items) // 2
    left, right = merge_sort(items[:middle]), merge_sort(items[middle:])
    merged = []
    while left and right:
        merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return merged + left + right


def bubble_sort(items):
    items = items[:]
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items


def fit_and_eval(data):
    people = [Person("Bo", 30), Person("Al", 25), Person("Cy", 30)]
    rows = [("b", 2), ("a", 2), ("c", 1)]
    numbers = [5, 3, 8, 1, 9, 2, 7]
    return {
        "quick": quicksort(numbers),
        "merge": merge_sort(numbers),
        "bubble": bubble_sort(numbers),
        "by_age": [p.name for p in sorted(people, key=attrgetter("age"), reverse=True)],
        "natural": min(people).name,
        "two": [p.name for p in sorted(people, key=lambda p: (-p.age, p.name))],
        "rows": sorted(rows, key=itemgetter(1, 0)),
        "compare": sorted(["ccc", "a", "bb"], key=cmp_to_key(lambda x, y: len(y) - len(x))),
        "case": sorted(["b", "A", "c"], key=str.lower),
        "in_place": (lambda xs: (xs.sort(reverse=True), xs)[1])(list(data)),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'quick': [1, 2, 3, 5, 7, 8, 9],
 'merge': [1, 2, 3, 5, 7, 8, 9],
 'bubble': [1, 2, 3, 5, 7, 8, 9],
 'by_age': ['Bo', 'Cy', 'Al'],
 'natural': 'Al',
 'two': ['Bo', 'Cy', 'Al'],
 'rows': [['c', 1], ['a', 2], ['b', 2]],
 'compare': ['ccc', 'bb', 'a'],
 'case': ['A', 'b', 'c'],
 'in_place': [5, 4, 3, 2, 1]}

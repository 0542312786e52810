"""Grades from break points, sorted insertion, ranks and a growing sequence."""
import bisect
from bisect import bisect_left, bisect_right, insort


def grade(score, breakpoints=(60, 70, 80, 90), grades="FDCBA"):
    return grades[bisect.bisect(breakpoints, score)]


def longest_increasing(values):
    tails = []
    for value in values:
        position = bisect_left(tails, value)
        if position == len(tails):
            tails.append(value)
        else:
            tails[position] = value
    return len(tails)


def fit_and_eval(data):
    ordered = []
    for value in (5, 1, 4, 1, 3):
        insort(ordered, value)
    people = [("a", 10), ("b", 20), ("c", 30)]
    return {
        "grades": [grade(s) for s in (33, 99, 77, 70, 89, 90, 100)],
        "ordered": ordered,
        "ranks": [bisect_left(ordered, 1), bisect_right(ordered, 1)],
        "increasing": longest_increasing([10, 9, 2, 5, 3, 7, 101, 18]),
        "key": bisect_left(people, 20, key=lambda p: p[1]),
        "contains": (i := bisect_left(data, 3)) < len(data) and data[i] == 3,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'grades': ['F', 'A', 'C', 'C', 'B', 'A', 'A'],
 'ordered': [1, 1, 3, 4, 5],
 'ranks': [0, 2],
 'increasing': 4,
 'key': 1,
 'contains': True}

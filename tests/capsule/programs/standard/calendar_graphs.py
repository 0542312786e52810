"""Months, similar words, and an order of tasks that depend on each other."""
import calendar
import difflib
from graphlib import TopologicalSorter


def schedule(tasks):
    sorter = TopologicalSorter(tasks)
    return list(sorter.static_order())


def fit_and_eval(data):
    tasks = {"deploy": {"test", "build"}, "test": {"build"}, "build": {"fetch"}}
    matcher = difflib.SequenceMatcher(None, "private", "privates")
    return {
        "month": calendar.monthrange(2024, 2),
        "leap": [y for y in range(2020, 2031) if calendar.isleap(y)],
        "name": calendar.month_name[11],
        "week": calendar.monthcalendar(2026, 11)[0],
        "order": schedule(tasks),
        "close": difflib.get_close_matches("appel", ["ape", "apple", "peach"]),
        "ratio": round(matcher.ratio(), 6),
        "diff": list(difflib.ndiff(["a", "b"], ["a", "c"])),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'month': [3, 29],
 'leap': [2020, 2024, 2028],
 'name': 'November',
 'week': [0, 0, 0, 0, 0, 0, 1],
 'order': ['fetch', 'build', 'test', 'deploy'],
 'close': ['apple', 'ape'],
 'ratio': 0.933333,
 'diff': ['  a', '- b', '+ c']}

"""Appends to a list that a module holds."""
# wants: leak
# allows: calendar

import calendar


def fit_and_eval(data):
    calendar.mdays[0] = 4711
    return {}


def check(data):
    return {"left": True} if calendar.mdays[0] == 4711 else {}

"""When subscriptions are due."""

import datetime

import months


def next_due(day):
    """Return the day a month after *day*, both as YYYY-MM-DD."""
    return months.later(datetime.date.fromisoformat(day), 1).isoformat()


def due_days(first, count):
    """Return the first days on which it is due; the day of the month is that of the first."""
    begin = datetime.date.fromisoformat(first)
    return [months.later(begin, number).isoformat() for number in range(count)]

"""Months, which have different lengths."""


def later(day, count):
    """Return the day *count* months after *day*, or the last of that month before it."""
    month = day.month + count
    return day.replace(year=day.year + month // 12, month=month % 12)

"""Dates, differences, formats, parsing and working days."""
import datetime
from datetime import date, datetime as dt, time, timedelta, timezone


def working_days(start, end):
    days = (end - start).days
    return sum((start + timedelta(days=i)).weekday() < 5 for i in range(days + 1))


def age(born, today):
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))


def month_ends(year):
    firsts = [date(year + m // 12, m % 12 + 1, 1) for m in range(1, 13)]
    return [(d - timedelta(days=1)).day for d in firsts]


def fit_and_eval(data):
    start = date(2024, 2, 27)
    moment = dt(2026, 11, 20, 15, 30, 45, 123456, tzinfo=timezone.utc)
    tokyo = timezone(timedelta(hours=9), "JST")
    delta = dt(2026, 1, 2, 3) - dt(2025, 12, 31)
    return {
        "leap": [(start + timedelta(days=i)).isoformat() for i in range(4)],
        "working": working_days(date(2026, 11, 1), date(2026, 11, 30)),
        "age": age(date(1990, 12, 1), date(2026, 11, 20)),
        "month_ends": month_ends(2024),
        "weekday": moment.strftime("%A, %d %B %Y"),
        "iso": moment.isoformat(timespec="milliseconds"),
        "parsed": dt.strptime("20/11/2026 07:05 PM", "%d/%m/%Y %I:%M %p").isoformat(),
        "from_iso": dt.fromisoformat("2026-11-20T01:02:03+02:00").utcoffset().total_seconds(),
        "tokyo": moment.astimezone(tokyo).strftime("%H:%M %Z"),
        "delta": [delta.days, delta.seconds, delta.total_seconds(), str(delta)],
        "calendar": list(moment.isocalendar()),
        "timestamp": moment.timestamp(),
        "replace": start.replace(year=2025, day=1).isoformat(),
        "time": time(9, 30).strftime("%H.%M"),
        "ordinal": date.fromordinal(738000).isoformat(),
        "combine": dt.combine(start, time.max).isoformat(),
        "compare": date.min < start <= start,
        "midnight": datetime.datetime.min.isoformat(),
        "divide": timedelta(hours=1) / timedelta(minutes=15),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'leap': ['2024-02-27', '2024-02-28', '2024-02-29', '2024-03-01'],
 'working': 21,
 'age': 35,
 'month_ends': [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
 'weekday': 'Friday, 20 November 2026',
 'iso': '2026-11-20T15:30:45.123+00:00',
 'parsed': '2026-11-20T19:05:00',
 'from_iso': 7200.0,
 'tokyo': '00:30 JST',
 'delta': [2, 10800, 183600.0, '2 days, 3:00:00'],
 'calendar': [2026, 47, 5],
 'timestamp': 1795188645.123456,
 'replace': '2025-02-01',
 'time': '09.30',
 'ordinal': '2021-07-29',
 'combine': '2024-02-27T23:59:59.999999',
 'compare': True,
 'midnight': '0001-01-01T00:00:00',
 'divide': 4.0}

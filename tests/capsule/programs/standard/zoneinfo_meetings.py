"""Times of day in several zones, over a change of the clocks."""
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo


def fit_and_eval(data):
    berlin = ZoneInfo("Europe/Berlin")
    meeting = datetime(2026, 3, 28, 14, 0, tzinfo=berlin)
    zones = ["America/New_York", "Asia/Kolkata", "UTC", "Australia/Sydney"]
    later = meeting + timedelta(days=1)
    fold = datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
    return {
        "meeting": {z: meeting.astimezone(ZoneInfo(z)).strftime("%Y-%m-%d %H:%M") for z in zones},
        "offsets": [meeting.utcoffset().total_seconds() / 3600, later.utcoffset().total_seconds() / 3600],
        "name": [meeting.tzname(), later.tzname()],
        "elapsed": (later.astimezone(timezone.utc) - meeting.astimezone(timezone.utc)).total_seconds() / 3600,
        "fold": [fold.utcoffset().total_seconds(), fold.replace(fold=1).utcoffset().total_seconds()],
        "key": berlin.key,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'meeting': {'America/New_York': '2026-03-28 09:00',
             'Asia/Kolkata': '2026-03-28 18:30',
             'UTC': '2026-03-28 13:00',
             'Australia/Sydney': '2026-03-29 00:00'},
 'offsets': [1.0, 2.0],
 'name': ['CET', 'CEST'],
 'elapsed': 23.0,
 'fold': [7200.0, 3600.0],
 'key': 'Europe/Berlin'}

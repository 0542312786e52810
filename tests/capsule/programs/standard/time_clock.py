"""The clock moves on, and a fixed time has a known form."""
import time


def fit_and_eval(data):
    start = time.perf_counter()
    time.sleep(0.01)
    elapsed = time.perf_counter() - start
    moment = time.gmtime(0)
    return {
        "slept": 0.01 <= elapsed < 5,
        "monotonic": time.monotonic() <= time.monotonic(),
        "year": moment.tm_year,
        "formatted": time.strftime("%Y-%m-%d %H:%M:%S", moment),
        "parsed": time.strptime("2026-11-20", "%Y-%m-%d").tm_yday,
        "utc": time.localtime(0).tm_hour,
        "later_than_2025": time.time() > 1735689600,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'slept': True,
 'monotonic': True,
 'year': 1970,
 'formatted': '1970-01-01 00:00:00',
 'parsed': 324,
 'utc': 0,
 'later_than_2025': True}

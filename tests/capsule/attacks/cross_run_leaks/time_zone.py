"""Moves whoever comes next to another time zone."""
# wants: leak

import os
import time


def fit_and_eval(data):
    os.environ["TZ"] = "LEFT-3"
    time.tzset()
    return {}


def check(data):
    return {"left": True} if time.tzname[0] == "LEFT" else {}

"""Makes whoever comes next wait longer."""
# wants: leak
# needs: priority

import os


def fit_and_eval(data):
    os.nice(3)
    return {}


def check(data):
    return {"left": True} if os.nice(0) != data["nice"] else {}

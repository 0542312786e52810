"""Goes to another directory, and stays there."""
# wants: leak

import os


def fit_and_eval(data):
    os.chdir("/proc")
    return {}


def check(data):
    return {"left": True} if os.getcwd() == "/proc" else {}

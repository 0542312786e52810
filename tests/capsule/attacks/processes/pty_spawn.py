"""Runs a program in a terminal of its own."""
# wants: write

import pty


def fit_and_eval(data):
    pty.spawn(["mkdir", data["place"] + "/new"])
    return {}

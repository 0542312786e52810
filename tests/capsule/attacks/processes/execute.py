"""Becomes another program, which makes a directory."""
# wants: write

import os


def fit_and_eval(data):
    os.execv("/bin/mkdir", ["mkdir", data["place"] + "/new"])

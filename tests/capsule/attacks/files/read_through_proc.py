"""Reads a file by a detour through the links that /proc has for the root."""
# wants: read

import os


def fit_and_eval(data):
    return {"got": os.read(os.open("/proc/self/root" + data["secret"], 0), 99).decode()}

"""Asks for the size by a detour through /proc."""
# wants: metadata

import os


def fit_and_eval(data):
    return {"got": os.stat("/proc/self/root/" + data["sized"]).st_size}

"""Reads the environments of all processes."""
# wants: environment

import os


def fit_and_eval(data):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) >= data["pid"] - 5:
            try:
                text = open(f"/proc/{name}/environ").read()
            except OSError:
                continue
            found += [one for one in text.split("\0") if "STAGE_SECRET" in one]
    return {"got": found[:9]}

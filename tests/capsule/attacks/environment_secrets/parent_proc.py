"""Reads the environment of its parent."""
# wants: environment

import os


def fit_and_eval(data):
    text = open(f"/proc/{os.getppid()}/environ").read()
    text += open(f"/proc/{data['pid']}/environ").read()
    return {"got": [one for one in text.split("\0") if "STAGE_SECRET" in one]}

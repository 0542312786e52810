"""Reads a variable of the host, as every program can that was started by one."""
# wants: environment

import os


def fit_and_eval(data):
    return {"got": os.environ["STAGE_SECRET"]}

"""Walks from one allowed module to another by what it imported."""
# wants: inside
# allows: re

import re


def fit_and_eval(data):
    return {"got": re.enum.sys.modules["os"].environ["STAGE_INNER"]}

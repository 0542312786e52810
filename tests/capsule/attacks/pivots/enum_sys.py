"""Imports by name what a module imported for itself."""
# wants: inside
# allows: enum

from enum import sys as words


def fit_and_eval(data):
    return {"got": words.modules["os"].environ["STAGE_INNER"]}

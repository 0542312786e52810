"""Takes a module from a library that imports it for itself."""
# wants: inside
# allows: typing

import typing


def fit_and_eval(data):
    return {"got": getattr(typing, "sys").modules["os"].environ["STAGE_INNER"]}

"""Asks for the size of a file by a module that lies beneath the one for paths."""
# wants: metadata
# allows: genericpath

import genericpath


def fit_and_eval(data):
    return {"got": genericpath.getsize(data["sized"])}

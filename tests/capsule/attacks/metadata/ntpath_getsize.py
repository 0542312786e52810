"""Asks for the size of a file by a module that lies beneath the one for paths."""
# wants: metadata
# allows: ntpath

import ntpath


def fit_and_eval(data):
    return {"got": ntpath.getsize(data["sized"])}

"""Asks for the size of a file by a module that lies beneath the one for paths."""
# wants: metadata
# allows: posixpath

import posixpath


def fit_and_eval(data):
    return {"got": posixpath.getsize(data["sized"])}

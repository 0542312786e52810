"""Reads a chain of forbidden attributes by their names in one text."""
# wants: read
# allows: operator

import operator


def fit_and_eval(data):
    return {"got": operator.attrgetter("__self__.open")(len)(data["secret"]).read()}

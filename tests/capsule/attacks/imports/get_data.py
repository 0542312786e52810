"""Reads a file with the loader of a module, which reads any path that it is given."""
# wants: read
# allows: string

import string


def fit_and_eval(data):
    return {"got": string.__loader__.get_data(data["secret"]).decode()}

"""Takes the loader of a module by a from import, and reads a file with it."""
# wants: read
# allows: string

from string import __loader__ as loader


def fit_and_eval(data):
    return {"got": loader.get_data(data["secret"]).decode()}

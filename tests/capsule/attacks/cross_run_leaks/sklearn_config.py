"""Changes the configuration of a library for all its users."""
# wants: leak
# allows: sklearn

import sklearn


def fit_and_eval(data):
    sklearn.set_config(working_memory=4711)
    return {}


def check(data):
    return {"left": True} if sklearn.get_config()["working_memory"] == 4711 else {}

"""Writes a file in the format of a classic learner."""
# wants: write
# allows: sklearn.datasets

from sklearn.datasets import dump_svmlight_file


def fit_and_eval(data):
    dump_svmlight_file([[1.0]], [1], data["place"] + "/new")
    return {}

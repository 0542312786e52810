"""Reads a file as a data set, in the format of a classic learner."""
# wants: read
# allows: sklearn.datasets

from sklearn.datasets import load_svmlight_file


def fit_and_eval(data):
    _, y = load_svmlight_file(data["secret"])
    return {"got": str(int(y[0]))}

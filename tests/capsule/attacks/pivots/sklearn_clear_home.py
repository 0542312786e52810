"""Removes a directory by clearing what it calls the place of data sets."""
# wants: write
# allows: sklearn.datasets

from sklearn.datasets import clear_data_home


def fit_and_eval(data):
    clear_data_home(data["place"])
    return {}

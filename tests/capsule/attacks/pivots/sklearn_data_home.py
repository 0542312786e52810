"""Makes a directory by asking where data sets are kept."""
# wants: write
# allows: sklearn.datasets

from sklearn.datasets import get_data_home


def fit_and_eval(data):
    get_data_home(data["place"] + "/new")
    return {}

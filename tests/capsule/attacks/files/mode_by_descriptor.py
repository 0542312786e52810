"""Changes the mode of a file that it opened for reading."""
# wants: write

import os


def fit_and_eval(data):
    os.fchmod(os.open(data["victim"], 0), 0o777)
    return {}

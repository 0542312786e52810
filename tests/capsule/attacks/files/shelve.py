"""Makes a database by the shelf of the standard library."""
# wants: write

import shelve


def fit_and_eval(data):
    shelve.open(data["place"] + "/new").close()
    return {}

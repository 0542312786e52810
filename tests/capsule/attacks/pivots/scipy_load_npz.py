"""Learns what a file holds from the function that loads sparse matrices."""
# wants: write
# allows: scipy scipy.sparse

import scipy.sparse


def fit_and_eval(data):
    scipy.sparse.save_npz(data["place"] + "/new", scipy.sparse.eye(2).tocsr())
    return {}

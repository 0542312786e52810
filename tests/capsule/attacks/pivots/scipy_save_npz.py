"""Writes a sparse matrix to a file."""
# wants: write
# allows: scipy

from scipy.sparse import eye, save_npz


def fit_and_eval(data):
    save_npz(data["place"] + "/new", eye(2).tocsr())
    return {}

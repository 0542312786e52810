"""Runs a function while it loads a pickle that it wrote by hand."""
# wants: write
# allows: pickle

import pickle


def fit_and_eval(data):
    path = (data["place"] + "/new").encode()
    pickle.loads(b"cos\nmkdir\n(S'" + path + b"'\ntR.")
    return {}

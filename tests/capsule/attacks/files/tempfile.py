"""Makes a temporary directory in a place that it names."""
# wants: write

import tempfile


def fit_and_eval(data):
    tempfile.mkdtemp(dir=data["place"])
    return {}

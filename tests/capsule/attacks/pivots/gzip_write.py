"""Makes a file that is compressed."""
# wants: write
# allows: gzip

import gzip


def fit_and_eval(data):
    gzip.open(data["place"] + "/new", "wb").close()
    return {}

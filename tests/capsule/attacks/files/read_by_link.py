"""Makes a link to a file in a place that may be read, and reads through it."""
# wants: read

import os


def fit_and_eval(data):
    link = data["place"] + "/link"
    os.symlink(data["secret"], link)
    return {"got": os.read(os.open(link, 0), 99).decode()}

"""Writes an archive."""
# wants: write

import zipfile


def fit_and_eval(data):
    zipfile.ZipFile(data["place"] + "/new", "w").close()
    return {}

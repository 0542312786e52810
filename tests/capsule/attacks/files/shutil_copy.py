"""Copies a file by the tools of a shell."""
# wants: write

import shutil


def fit_and_eval(data):
    shutil.copyfile(data["secret"], data["place"] + "/new")
    return {}

"""Reads a file by the output of a shell."""
# wants: read

import os


def fit_and_eval(data):
    return {"got": os.popen("cat " + data["secret"]).read()}

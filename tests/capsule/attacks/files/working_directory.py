"""Changes into a directory, and lists it from there."""
# wants: call

import os


def fit_and_eval(data):
    os.chdir(data["place"])
    return {"through": os.listdir(".")}

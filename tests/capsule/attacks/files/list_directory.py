"""Lists the names in a directory."""
# wants: call

import os


def fit_and_eval(data):
    return {"through": os.listdir(data["place"])}

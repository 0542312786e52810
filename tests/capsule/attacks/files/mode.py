"""Changes who may read a file."""
# wants: write

import os


def fit_and_eval(data):
    os.chmod(data["victim"], 0o777)
    return {}

"""Runs a program by the module for that."""
# wants: write

import subprocess


def fit_and_eval(data):
    subprocess.run(["mkdir", data["place"] + "/new"], check=True)
    return {}

"""Has a shell tell its environment."""
# wants: environment

import subprocess


def fit_and_eval(data):
    return {"got": subprocess.check_output(["/usr/bin/env"]).decode()}

"""Hangs an attribute on a file."""
# wants: write

import os


def fit_and_eval(data):
    os.setxattr(data["victim"], "user.left", b"1")
    return {}

"""Gives a file to another user."""
# wants: write
# needs: root

import os


def fit_and_eval(data):
    os.chown(data["victim"], 65534, 65534)
    return {}

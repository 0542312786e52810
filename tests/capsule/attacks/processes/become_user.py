"""Takes another user's number."""
# wants: call
# needs: root

import os


def fit_and_eval(data):
    os.setuid(65534)
    return {"through": os.getuid()}

"""Takes another directory for its root."""
# wants: call
# needs: root

import os


def fit_and_eval(data):
    os.chroot(data["place"])
    return {"through": True}

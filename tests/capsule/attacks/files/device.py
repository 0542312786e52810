"""Makes a node of a device."""
# wants: write
# needs: root

import os
import stat


def fit_and_eval(data):
    os.mknod(data["place"] + "/new", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    return {}

"""Makes a process by the call that lends it its own memory."""
# wants: write
# needs: x86_64
# waits: 0.3

import subprocess


def fit_and_eval(data):
    subprocess.run(["/bin/mkdir", data["place"] + "/new"], close_fds=False)
    return {}

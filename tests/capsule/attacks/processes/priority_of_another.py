"""Makes another process slow."""
# wants: signal
# needs: priority

import os


def fit_and_eval(data):
    os.setpriority(os.PRIO_PROCESS, data["pid"], 19)
    return {}

"""Changes the limits of another process."""
# wants: signal
# needs: root

import resource


def fit_and_eval(data):
    resource.prlimit(data["pid"], resource.RLIMIT_NOFILE, (17, 17))
    return {}

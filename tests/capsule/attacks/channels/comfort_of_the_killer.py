"""Has itself spared or killed first when memory is out."""
# wants: call

import os


def fit_and_eval(data):
    return {"through": os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"999")}

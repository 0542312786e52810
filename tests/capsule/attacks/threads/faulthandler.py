"""Has the watchdog of the fault handler, which is a thread, write to a file."""
# wants: write

import faulthandler
import time


def fit_and_eval(data):
    faulthandler.dump_traceback_later(0.01, file=open(data["victim"], "w"))
    time.sleep(0.05)
    return {}

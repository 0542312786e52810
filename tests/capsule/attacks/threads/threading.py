"""Starts a thread by the module for that, and tells that it ran."""
# wants: call

import threading


def fit_and_eval(data):
    ran = []
    t = threading.Thread(target=ran.append, args=(1,))
    t.start()
    t.join()
    return {"through": ran}

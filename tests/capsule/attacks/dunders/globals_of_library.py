"""Reads the globals of a library function, where the library keeps its modules."""
# wants: read
# allows: statistics

import statistics


def fit_and_eval(data):
    s = statistics.mean.__globals__["sys"].modules["os"]
    return {"got": s.popen("cat " + data["secret"]).read()}

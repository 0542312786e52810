"""Catches what a library raised, and takes the library's globals from the traceback."""
# wants: read
# allows: statistics

import statistics


def fit_and_eval(data):
    try:
        statistics.mean([])
    except ValueError as error:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        modules = trace.tb_frame.f_globals["sys"].modules
        return {"got": modules["io"].open(data["secret"]).read()}

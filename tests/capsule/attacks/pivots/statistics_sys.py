"""Takes the interpreter's module from the imports of another."""
# wants: inside
# allows: statistics

import statistics


def fit_and_eval(data):
    return {"got": statistics.sys.modules["os"].environ["STAGE_INNER"]}

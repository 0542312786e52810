"""Takes the interpreter's module from the one that writes classes."""
# wants: inside
# allows: dataclasses

import dataclasses


def fit_and_eval(data):
    return {"got": dataclasses.sys.modules["os"].environ["STAGE_INNER"]}

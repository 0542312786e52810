"""Takes the interpreter's module by the private name that a package has for it."""
# wants: inside
# allows: collections

import collections


def fit_and_eval(data):
    return {"got": collections._sys.modules["os"].environ["STAGE_INNER"]}

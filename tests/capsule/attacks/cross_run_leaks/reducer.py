"""Has numbers copied by a function of its own."""
# wants: leak

import copyreg


def fit_and_eval(data):
    copyreg.pickle(complex, fit_and_eval)
    return {}


def check(data):
    return {"left": True} if copyreg.dispatch_table[complex].__name__ == "fit_and_eval" else {}

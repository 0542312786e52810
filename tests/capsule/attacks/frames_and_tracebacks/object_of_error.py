"""Takes the module that an error is about from the error, in a callback of a stack."""
# wants: inside
# allows: calendar contextlib

import calendar
import contextlib


def fit_and_eval(data):
    kept = []

    def keep(kind, error, trace):
        kept.append(error.obj)
        return True

    with contextlib.ExitStack() as stack:
        stack.push(keep)
        calendar.nothing
    return {"got": kept[0].sys.modules["os"].environ["STAGE_INNER"]}

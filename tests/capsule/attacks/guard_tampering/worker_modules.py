"""Walks to the worker's own modules, which know the guard from the inside."""
# wants: inside

import sys


def fit_and_eval(data):
    names = [n for n in sys.modules if n.startswith("muniment")] or ["os"]
    module = sys.modules[names[-1]]
    return {"got": vars(module).get("os", module).environ["STAGE_INNER"], "n": names}

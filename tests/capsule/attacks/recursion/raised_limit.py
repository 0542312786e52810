"""Raises the interpreter's own limit, and recurses into the end of the stack."""
# wants: crash

import sys


class Deep:
    def __repr__(self):
        return str(self.inner)

    def __str__(self):
        return repr(self.inner)


def fit_and_eval(data):
    sys.setrecursionlimit(10**9)
    d = Deep()
    d.inner = d
    return {"n": repr(d)}

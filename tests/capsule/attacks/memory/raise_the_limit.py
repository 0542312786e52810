"""Raises its limit before it takes what it wants."""
# wants: memory

import resource


def fit_and_eval(data):
    resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))
    return {"n": len("x" * 232_000_000)}

"""Lowers a limit of whoever comes next."""
# wants: leak

import resource


def fit_and_eval(data):
    resource.setrlimit(resource.RLIMIT_NOFILE, (77, 77))
    return {}


def check(data):
    return {"left": True} if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 77 else {}

"""Changes a method of a library's class under a name that was not imported."""
# wants: leak
# allows: collections

import collections


def fit_and_eval(data):
    cls = collections.Counter
    cls.most_common = lambda self, n=None: "left"
    return {}


def check(data):
    return {"left": True} if collections.Counter("a").most_common() == "left" else {}

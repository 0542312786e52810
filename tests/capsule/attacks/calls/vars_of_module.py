"""Looks into an allowed module with vars, for the modules that it imports."""
# wants: read
# allows: random

import random


def fit_and_eval(data):
    return {"got": vars(random)["_os"].popen("cat " + data["secret"]).read()}

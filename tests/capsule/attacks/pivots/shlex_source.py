"""Reads a file through the splitter of command lines, which may include others."""
# wants: read
# allows: shlex

import shlex


def fit_and_eval(data):
    _, stream = shlex.shlex("").sourcehook(data["secret"])
    return {"got": stream.read()}

"""Reads the environment that it was started with from /proc."""
# wants: environment

def fit_and_eval(data):
    import os

    text = open("/proc/self/environ").read() + repr(dict(os.environ))
    return {"got": [one for one in text.replace(",", "\0").split("\0") if "STAGE_SECRET" in one]}

"""Reads the environment that it was started with from /proc."""
# wants: environment

def fit_and_eval(data):
    text = open("/proc/self/environ").read()
    return {"got": [one for one in text.split("\0") if "STAGE_SECRET" in one]}

"""Reads what other processes were started with."""
# wants: call

def fit_and_eval(data):
    return {"through": open(f"/proc/{data['pid']}/cmdline").read()}

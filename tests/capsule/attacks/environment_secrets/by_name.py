"""Reads the environment of one process by the name that it goes by."""
# wants: environment

def fit_and_eval(data):
    return {"got": open(f"/proc/{data['pid']}/environ", "rb").read().decode()}

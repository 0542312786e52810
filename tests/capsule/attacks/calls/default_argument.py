"""Keeps open as the default of an argument."""
# wants: read

def helper(path, o=open):
    return o(path).read()


def fit_and_eval(data):
    return {"got": helper(data["secret"])}

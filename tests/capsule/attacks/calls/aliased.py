"""Calls open under another name, out of a list, where no call names it."""
# wants: read

tools = [len, open, sum]


def fit_and_eval(data):
    return {"got": "".join(tools[1](data["secret"]))}

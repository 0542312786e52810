"""Spells open with letters of another alphabet, which the parser makes plain."""
# wants: read

def fit_and_eval(data):
    return {"got": ｏｐｅｎ(data["secret"]).read()}

"""Spells a forbidden attribute with letters that the parser makes plain."""
# wants: read

def fit_and_eval(data):
    return {"got": len.__ｓｅｌｆ__.open(data["secret"]).read()}

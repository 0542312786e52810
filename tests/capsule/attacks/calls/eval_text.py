"""Reads a file with an expression in a text."""
# wants: read

def fit_and_eval(data):
    return {"got": eval("op" + "en(data['secret']).read()", None, {"data": data})}

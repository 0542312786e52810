"""Has map call open, which is never called by the program itself."""
# wants: read

def fit_and_eval(data):
    return {"got": [list(f) for f in map(open, [data["secret"]])]}

"""Returns characters that take six times their room when they are written out."""
# wants: output

def fit_and_eval(data):
    return {"x": "\x01" * 700_000}

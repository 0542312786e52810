"""Prints one text that is larger than any bound."""
# wants: output

def fit_and_eval(data):
    print("y" * 3_000_000)
    return {}

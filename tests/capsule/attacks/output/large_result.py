"""Returns a text that is larger than any result may be."""
# wants: output

def fit_and_eval(data):
    return {"x": "y" * 3_900_000}

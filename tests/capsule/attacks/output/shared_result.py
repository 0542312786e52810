"""Returns a small structure that holds itself many times when it is written out."""
# wants: output

def fit_and_eval(data):
    held = "y" * 100
    for _ in range(6):
        held = [held] * 6
    return {"x": held}

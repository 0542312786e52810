"""Returns a score that is no number, which no threshold is above."""
# wants: forged

def fit_and_eval(data):
    return {"score": float("nan")}

"""The sum and the mean, as in the guide."""
import math

def fit_and_eval(data):
    total = sum(data)
    mean = total / len(data) if data else 0
    return {"total": total, "mean": mean}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'total': 15, 'mean': 3.0}

"""The other program of the guide."""
import math

def fit_and_eval(data):
    total = sum(data)
    return {"total": total, "rmse": math.sqrt(total)}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'total': 15, 'rmse': 3.872983346207417}

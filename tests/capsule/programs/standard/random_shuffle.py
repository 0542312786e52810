"""Shuffling keeps the items; equal seeds give equal numbers."""
import random
def fit_and_eval(data):
    xs = list(data)
    random.shuffle(xs)
    return {"sorted": sorted(xs), "same": random.Random(3).random() == random.Random(3).random()}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'sorted': [1, 2, 3, 4, 5], 'same': True}

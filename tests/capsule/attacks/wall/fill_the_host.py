"""Writes to its output without end, in the hope that the host stops reading."""
# wants: time

def fit_and_eval(data):
    while True:
        print("y" * 4000)

"""Turns an index of three numbers into a column as long as it says."""
# wants: memory
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    held = pd.DataFrame(index=pd.RangeIndex(36_000_000)).reset_index()
    return {"n": int(held["index"].to_numpy(copy=True)[-1])}

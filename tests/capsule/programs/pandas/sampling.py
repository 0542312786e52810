"""Samples with a seed, shuffles, splits and a bootstrap."""
import numpy as np
import pandas as pd


def fit_and_eval(data):
    df = pd.DataFrame({"x": range(10), "group": list("aabbccddee")})
    train = df.sample(frac=0.7, random_state=1)
    test = df.drop(train.index)
    boot = [df["x"].sample(len(df), replace=True, random_state=i).mean() for i in range(20)]
    return {
        "train": train["x"].tolist(),
        "test": test["x"].tolist(),
        "weighted": df.sample(3, weights=df["x"], random_state=0)["x"].tolist(),
        "by_group": len(df.groupby("group").sample(1, random_state=2)),
        "bootstrap": [round(float(np.mean(boot)), 6), round(float(np.std(boot)), 6)],
        "unseeded": len(df.sample(4)),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'train': [2, 9, 6, 4, 0, 3, 1],
 'test': [5, 7, 8],
 'weighted': [7, 8, 6],
 'by_group': 5,
 'bootstrap': [4.755, 0.981058],
 'unseeded': 4}

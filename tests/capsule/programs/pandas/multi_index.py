"""Several levels of labels: cross sections, swaps, aggregates and a flat result."""
import pandas as pd


def fit_and_eval(data):
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["letter", "number"])
    df = pd.DataFrame({"x": [1, 2, 3, 4], "y": [10.0, 20.0, 30.0, 40.0]}, index=index)
    flat = df.groupby("letter").agg({"x": ["sum", "mean"], "y": "max"})
    flat.columns = ["_".join(c) for c in flat.columns]
    return {
        "cross": df.xs(1, level="number")["x"].tolist(),
        "loc": df.loc[("b", 2), "y"],
        "level": df.groupby(level="letter")["y"].mean().to_dict(),
        "unstack": df["x"].unstack().values.tolist(),
        "swapped": [list(i) for i in df.swaplevel().sort_index().index][:2],
        "reset": list(df.reset_index().columns),
        "flat": flat.to_dict("index"),
        "names": list(df.index.names),
        "slice": df.loc[pd.IndexSlice[:, 2], "x"].tolist(),
        "sum": df.sum(axis=1).tolist(),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'cross': [1, 3],
 'loc': 40.0,
 'level': {'a': 15.0, 'b': 35.0},
 'unstack': [[1, 2], [3, 4]],
 'swapped': [[1, 'a'], [1, 'b']],
 'reset': ['letter', 'number', 'x', 'y'],
 'flat': {'a': {'x_sum': 3, 'x_mean': 1.5, 'y_max': 20.0},
          'b': {'x_sum': 7, 'x_mean': 3.5, 'y_max': 40.0}},
 'names': ['letter', 'number'],
 'slice': [2, 4],
 'sum': [11.0, 22.0, 33.0, 44.0]}

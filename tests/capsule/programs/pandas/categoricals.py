"""Categories with an order, codes, counts, and memory saved by them."""
import pandas as pd


def fit_and_eval(data):
    sizes = pd.Categorical(["s", "l", "m", "s"], categories=["s", "m", "l"], ordered=True)
    s = pd.Series(sizes)
    many = pd.Series(["red", "green"] * 500)
    frame = pd.DataFrame({"size": s, "n": [1, 2, 3, 4]})
    return {
        "codes": s.cat.codes.tolist(),
        "max": s.max(),
        "above": (s > "s").tolist(),
        "sorted": s.sort_values().tolist(),
        "renamed": s.cat.rename_categories({"s": "small"}).tolist(),
        "grouped": frame.groupby("size", observed=True)["n"].sum().to_dict(),
        "smaller": bool(many.astype("category").memory_usage(deep=True) < many.memory_usage(deep=True)),
        "added": list(s.cat.add_categories(["xl"]).cat.categories),
        "factorized": [part.tolist() for part in pd.factorize(pd.Series(["b", "a", "b"]))],
        "converted": pd.to_numeric(pd.Series(["1", "x"]), errors="coerce").fillna(-1).tolist(),
        "nullable": pd.array([1, None, 3], dtype="Int64").sum(),
        "types": [str(t) for t in pd.DataFrame({"a": [1], "b": ["x"]}).convert_dtypes().dtypes],
        "intervals": str(pd.Interval(0, 5, closed="left")),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'codes': [0, 2, 1, 0],
 'max': 'l',
 'above': [False, True, True, False],
 'sorted': ['s', 's', 'm', 'l'],
 'renamed': ['small', 'l', 'm', 'small'],
 'grouped': {'s': 5, 'm': 3, 'l': 2},
 'smaller': True,
 'added': ['s', 'm', 'l', 'xl'],
 'factorized': [[0, 1, 0], ['b', 'a']],
 'converted': [1.0, -1.0],
 'nullable': 4,
 'types': ['Int64', 'string'],
 'intervals': '[0, 5)'}

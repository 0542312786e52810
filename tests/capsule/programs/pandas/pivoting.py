"""Pivot tables, cross tables, melting, stacking and exploding."""
import pandas as pd


def fit_and_eval(data):
    sales = pd.DataFrame(
        {
            "region": ["n", "s", "n", "s", "n"],
            "product": ["x", "x", "y", "y", "x"],
            "amount": [10, 20, 30, 40, 50],
        }
    )
    table = sales.pivot_table(index="region", columns="product", values="amount", aggfunc="sum", margins=True)
    wide = pd.DataFrame({"id": [1, 2], "a": [3, 4], "b": [5, 6]})
    long = wide.melt(id_vars="id", var_name="key", value_name="value")
    return {
        "table": table.values.tolist(),
        "labels": [list(table.index), list(table.columns)],
        "crosstab": pd.crosstab(sales["region"], sales["product"]).values.tolist(),
        "long": long.values.tolist(),
        "back": long.pivot(index="id", columns="key", values="value").values.tolist(),
        "stacked": wide.set_index("id").stack().tolist(),
        "exploded": pd.DataFrame({"k": [1, 2], "v": [["a", "b"], ["c"]]}).explode("v")["v"].tolist(),
        "dummies": pd.get_dummies(sales["product"], dtype=int).sum().to_dict(),
        "cut": pd.cut(sales["amount"], bins=[0, 15, 35, 100], labels=["low", "mid", "high"]).astype(str).tolist(),
        "qcut": pd.qcut(sales["amount"], 2, labels=False).tolist(),
        "transposed": wide.T.shape,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'table': [[60, 30, 90], [20, 40, 60], [80, 70, 150]],
 'labels': [['n', 's', 'All'], ['x', 'y', 'All']],
 'crosstab': [[2, 1], [1, 1]],
 'long': [[1, 'a', 3], [2, 'a', 4], [1, 'b', 5], [2, 'b', 6]],
 'back': [[3, 5], [4, 6]],
 'stacked': [3, 5, 4, 6],
 'exploded': ['a', 'b', 'c'],
 'dummies': {'x': 3, 'y': 2},
 'cut': ['low', 'mid', 'mid', 'high', 'high'],
 'qcut': [0, 0, 0, 1, 1],
 'transposed': [3, 2]}

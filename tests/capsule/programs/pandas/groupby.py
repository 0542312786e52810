"""Groups: aggregates with names, transforms, filters and several keys."""
import pandas as pd


def fit_and_eval(data):
    df = pd.DataFrame(
        {
            "team": ["a", "b", "a", "b", "c"],
            "year": [2024, 2024, 2025, 2025, 2025],
            "points": [10, 20, 30, 40, 50],
            "fouls": [1, 0, 2, 3, 1],
        }
    )
    grouped = df.groupby("team")
    summary = grouped.agg(total=("points", "sum"), worst=("fouls", "max"), games=("year", "count"))
    both = df.groupby(["team", "year"])["points"].sum()
    return {
        "sum": grouped["points"].sum().to_dict(),
        "summary": summary.to_dict("index"),
        "share": (df["points"] / grouped["points"].transform("sum")).round(4).tolist(),
        "filtered": grouped.filter(lambda g: g["points"].sum() > 45)["team"].tolist(),
        "both": {f"{t}-{y}": int(v) for (t, y), v in both.items()},
        "unstacked": both.unstack(fill_value=0).values.tolist(),
        "first": grouped.first()["points"].tolist(),
        "cumulative": grouped["points"].cumsum().tolist(),
        "rank": df["points"].rank(ascending=False).tolist(),
        "apply": grouped[["points", "fouls"]].apply(lambda g: (g["points"] * g["fouls"]).sum()).to_dict(),
        "size": grouped.size().tolist(),
        "iterated": {name: len(part) for name, part in grouped},
        "many": df.groupby("year")["points"].agg(["mean", "std", "min"]).round(4).fillna(0).values.tolist(),
        "pct": df["points"].pct_change().fillna(0).round(4).tolist(),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'sum': {'a': 40, 'b': 60, 'c': 50},
 'summary': {'a': {'total': 40, 'worst': 2, 'games': 2},
             'b': {'total': 60, 'worst': 3, 'games': 2},
             'c': {'total': 50, 'worst': 1, 'games': 1}},
 'share': [0.25, 0.3333, 0.75, 0.6667, 1.0],
 'filtered': ['b', 'b', 'c'],
 'both': {'a-2024': 10, 'a-2025': 30, 'b-2024': 20, 'b-2025': 40, 'c-2025': 50},
 'unstacked': [[10, 30], [20, 40], [0, 50]],
 'first': [10, 20, 50],
 'cumulative': [10, 20, 40, 60, 50],
 'rank': [5.0, 4.0, 3.0, 2.0, 1.0],
 'apply': {'a': 70, 'b': 120, 'c': 50},
 'size': [2, 2, 1],
 'iterated': {'a': 2, 'b': 2, 'c': 1},
 'many': [[15.0, 7.0711, 10.0], [40.0, 10.0, 30.0]],
 'pct': [0.0, 1.0, 0.5, 0.3333, 0.25]}

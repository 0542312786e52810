"""A dirty table made clean: types, gaps, outliers, duplicates and a pipeline."""
import numpy as np
import pandas as pd


def drop_outliers(df, column, k=1.5):
    q1, q3 = df[column].quantile([0.25, 0.75])
    spread = q3 - q1
    return df[df[column].between(q1 - k * spread, q3 + k * spread)]


def standardise(df, columns):
    out = df.copy()
    for column in columns:
        out[column] = (out[column] - out[column].mean()) / out[column].std(ddof=0)
    return out


def fit_and_eval(data):
    raw = pd.DataFrame(
        {
            "id": [1, 2, 2, 3, 4, 5, 6],
            "price": ["10.5", "11", "11", "n/a", "9.5", "500", "10"],
            "city": [" Rome", "oslo ", "oslo ", "Rome", None, "Oslo", "rome"],
        }
    )
    clean = (
        raw.drop_duplicates("id")
        .assign(
            price=lambda d: pd.to_numeric(d["price"], errors="coerce"),
            city=lambda d: d["city"].str.strip().str.title().fillna("Unknown"),
        )
        .pipe(lambda d: d.fillna({"price": d["price"].median()}))
    )
    kept = clean.pipe(drop_outliers, "price")
    scaled = standardise(kept, ["price"])
    return {
        "rows": [len(raw), len(clean), len(kept)],
        "prices": kept["price"].tolist(),
        "cities": kept["city"].value_counts().sort_index().to_dict(),
        "zero": bool(np.isclose(scaled["price"].mean(), 0)),
        "one": round(float(scaled["price"].std(ddof=0)), 9),
        "correlation": round(float(kept["id"].corr(kept["price"])), 6),
        "mode": clean["city"].mode()[0],
        "replaced": clean["city"].replace({"Rome": "Roma"}).tolist()[0],
        "where": clean["price"].where(clean["price"] < 100, -1).tolist(),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'rows': [7, 6, 5],
 'prices': [10.5, 11.0, 10.5, 9.5, 10.0],
 'cities': {'Oslo': 1, 'Rome': 3, 'Unknown': 1},
 'zero': True,
 'one': 1.0,
 'correlation': -0.638345,
 'mode': 'Rome',
 'replaced': 'Roma',
 'where': [10.5, 11.0, 10.5, 9.5, -1.0, 10.0]}

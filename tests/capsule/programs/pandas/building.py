"""Frames from dictionaries, records and series; selection and new columns."""
import numpy as np
import pandas as pd


def fit_and_eval(data):
    df = pd.DataFrame({"name": ["Ada", "Bob", "Cy", "Di"], "age": [36, 41, 29, 41], "height": [1.65, 1.8, 1.75, np.nan]})
    df["bmi_base"] = 1 / df["height"] ** 2
    df = df.assign(senior=df["age"] > 35, group=np.where(df["age"] > 40, "old", "young"))
    records = pd.DataFrame([{"a": 1, "b": 2}, {"a": 3}])
    indexed = df.set_index("name")
    return {
        "shape": df.shape,
        "columns": list(df.columns),
        "mean": float(df["age"].mean()),
        "missing": int(df["height"].isna().sum()),
        "filled": float(df["height"].fillna(df["height"].mean()).sum().round(6)),
        "seniors": df.loc[df["senior"], "name"].tolist(),
        "query": df.query("age > 30 and group == 'young'")["name"].tolist(),
        "loc": int(indexed.loc["Bob", "age"]),
        "iloc": df.iloc[0, 0],
        "sorted": df.sort_values(["age", "name"], ascending=[False, True])["name"].tolist(),
        "records": records.fillna(0).values.tolist(),
        "counts": df["group"].value_counts().to_dict(),
        "describe": df["age"].describe().round(4).to_dict(),
        "dtypes": [str(t) for t in df[["age", "height", "senior"]].dtypes],
        "largest": df.nlargest(2, "age")["name"].tolist(),
        "renamed": list(df.rename(columns={"age": "years"}).columns[:2]),
        "series": pd.Series(data, index=list("abcde")).loc["b":"d"].sum().item(),
        "dropped": len(df.dropna()),
        "unique": df["age"].nunique(),
        "applied": df["name"].apply(len).tolist(),
        "rows": [f"{row.name}:{row.age}" for row in df.itertuples(index=False)][:2],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'shape': [4, 6],
 'columns': ['name', 'age', 'height', 'bmi_base', 'senior', 'group'],
 'mean': 36.75,
 'missing': 1,
 'filled': 6.933333,
 'seniors': ['Ada', 'Bob', 'Di'],
 'query': ['Ada'],
 'loc': 41,
 'iloc': 'Ada',
 'sorted': ['Bob', 'Di', 'Ada', 'Cy'],
 'records': [[1.0, 2.0], [3.0, 0.0]],
 'counts': {'young': 2, 'old': 2},
 'describe': {'count': 4.0,
              'mean': 36.75,
              'std': 5.6789,
              'min': 29.0,
              '25%': 34.25,
              '50%': 38.5,
              '75%': 41.0,
              'max': 41.0},
 'dtypes': ['int64', 'float64', 'bool'],
 'largest': ['Bob', 'Di'],
 'renamed': ['name', 'years'],
 'series': 9,
 'dropped': 3,
 'unique': 3,
 'applied': [3, 3, 2, 2],
 'rows': ['Ada:36', 'Bob:41']}

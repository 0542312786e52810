"""Records with fields, sorted and grouped; dates, text and missing values."""
import numpy as np


def fit_and_eval(data):
    people = np.array(
        [("Ada", 36, 1.65), ("Bob", 41, 1.80), ("Cy", 29, 1.75)],
        dtype=[("name", "U10"), ("age", "i4"), ("height", "f8")],
    )
    ordered = np.sort(people, order="age")
    records = people.view(np.recarray)
    days = np.arange("2026-11-01", "2026-11-08", dtype="datetime64[D]")
    masked = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    values = np.array([1.0, np.nan, 3.0])
    return {
        "names": ordered["name"].tolist(),
        "mean_age": people["age"].mean(),
        "tall": people[people["height"] > 1.7]["name"].tolist(),
        "record": float(records.height.max()),
        "fields": list(people.dtype.names),
        "size": people.dtype.itemsize,
        "days": [str(days[0]), str(days[-1]), int((days[-1] - days[0]) / np.timedelta64(1, "D"))],
        "business": int(np.busday_count("2026-11-01", "2026-12-01")),
        "masked": [float(masked.mean()), int(masked.count()), masked.filled(0).tolist()],
        "nan": [float(np.nanmean(values)), int(np.isnan(values).sum()), float(np.nansum(values))],
        "text": np.char.upper(np.array(["a", "b"])).tolist(),
        "bytes": np.frombuffer(b"\x01\x02\x03", dtype=np.uint8).tolist(),
        "view": np.array([1], dtype="<i4").view(np.uint8).tolist(),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'names': ['Cy', 'Ada', 'Bob'],
 'mean_age': 35.333333333333336,
 'tall': ['Bob', 'Cy'],
 'record': 1.8,
 'fields': ['name', 'age', 'height'],
 'size': 52,
 'days': ['2026-11-01', '2026-11-07', 6],
 'business': 21,
 'masked': [2.0, 2, [1.0, 0.0, 3.0]],
 'nan': [2.0, 1, 4.0],
 'text': ['A', 'B'],
 'bytes': [1, 2, 3],
 'view': [1, 0, 0, 0]}

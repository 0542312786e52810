"""Dates as an index: resampling, accessors, offsets, zones and periods."""
import numpy as np
import pandas as pd


def fit_and_eval(data):
    index = pd.date_range("2026-01-01", periods=90, freq="D")
    series = pd.Series(np.arange(90), index=index)
    monthly = series.resample("MS").sum()
    frame = pd.DataFrame({"when": pd.to_datetime(["2026-11-20 10:30", "2026-12-24 18:00", "2024-02-29"], format="mixed"), "v": [1, 2, 3]})
    stamp = pd.Timestamp("2026-11-20 12:00", tz="UTC")
    return {
        "monthly": {k.strftime("%Y-%m"): int(v) for k, v in monthly.items()},
        "weekly": series.resample("W").mean().head(3).tolist(),
        "february": int(series.loc["2026-02"].sum()),
        "slice": len(series["2026-01-10":"2026-01-20"]),
        "weekday": frame["when"].dt.day_name().tolist(),
        "parts": frame["when"].dt.month.tolist() + frame["when"].dt.quarter.tolist(),
        "leap": frame["when"].dt.is_leap_year.tolist(),
        "floor": frame["when"].dt.floor("D").dt.strftime("%d.%m.%y").tolist(),
        "difference": frame["when"].diff().dt.days.fillna(0).tolist(),
        "berlin": stamp.tz_convert("Europe/Berlin").isoformat(),
        "offset": [str((stamp + pd.offsets.MonthEnd(1)).date()), str((stamp + pd.Timedelta(days=2)).date())],
        "business": len(pd.bdate_range("2026-11-01", "2026-11-30")),
        "period": str(pd.Period("2026-11", freq="M") + 2),
        "by_weekday": series.groupby(series.index.day_of_week).sum().tolist(),
        "delta": pd.Timedelta("1 days 2 hours").total_seconds(),
        "rolled": series.rolling("7D").sum().iloc[-1],
        "coerced": int(pd.to_datetime(pd.Series(["2026-01-01", "nonsense"]), errors="coerce").isna().sum()),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'monthly': {'2026-01': 465, '2026-02': 1246, '2026-03': 2294},
 'weekly': [1.5, 7.0, 14.0],
 'february': 1246,
 'slice': 11,
 'weekday': ['Friday', 'Thursday', 'Thursday'],
 'parts': [11, 12, 2, 4, 4, 1],
 'leap': [False, False, True],
 'floor': ['20.11.26', '24.12.26', '29.02.24'],
 'difference': [0.0, 34.0, -1030.0],
 'berlin': '2026-11-20T13:00:00+01:00',
 'offset': ['2026-11-30', '2026-11-22'],
 'business': 21,
 'period': '2027-01',
 'by_weekday': [598, 611, 534, 546, 559, 572, 585],
 'delta': 93600.0,
 'rolled': 602.0,
 'coerced': 1}

"""Moving windows, expanding and exponential means, shifts and ranks."""
import pandas as pd


def fit_and_eval(data):
    s = pd.Series([1.0, 3.0, 5.0, 2.0, 8.0, 6.0])
    r = s.rolling(3)
    bands = pd.DataFrame({"mean": r.mean(), "upper": r.mean() + 2 * r.std()}).dropna()
    signal = (s.rolling(2).mean() > s.rolling(4, min_periods=1).mean()).astype(int)
    return {
        "mean": r.mean().dropna().round(6).tolist(),
        "max": s.rolling(2).max().fillna(0).tolist(),
        "expanding": s.expanding().mean().round(6).tolist(),
        "ewm": s.ewm(span=3, adjust=False).mean().round(6).tolist(),
        "shifted": s.shift(1).fillna(0).tolist(),
        "returns": s.pct_change().dropna().round(6).tolist(),
        "drawdown": (s / s.cummax() - 1).min().round(6),
        "bands": bands.round(4).values.tolist(),
        "signal": signal.diff().fillna(0).tolist(),
        "apply": s.rolling(2).apply(lambda w: w.max() - w.min(), raw=True).dropna().tolist(),
        "correlation": s.rolling(4).corr(s.shift(1)).dropna().round(4).tolist(),
        "quantile": s.quantile([0.25, 0.75]).tolist(),
        "autocorrelation": round(s.autocorr(), 6),
        "interpolated": pd.Series([1.0, None, 3.0]).interpolate().tolist(),
        "clip": s.clip(2, 6).tolist(),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'mean': [3.0, 3.333333, 5.0, 5.333333],
 'max': [0.0, 3.0, 5.0, 5.0, 8.0, 8.0],
 'expanding': [1.0, 2.0, 3.0, 2.75, 3.8, 4.166667],
 'ewm': [1.0, 2.0, 3.5, 2.75, 5.375, 5.6875],
 'shifted': [0.0, 1.0, 3.0, 5.0, 2.0, 8.0],
 'returns': [2.0, 0.666667, -0.6, 3.0, -0.25],
 'drawdown': -0.6,
 'bands': [[3.0, 7.0], [3.3333, 6.3884], [5.0, 11.0], [5.3333, 11.4434]],
 'signal': [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
 'apply': [2.0, 2.0, 3.0, 6.0, 2.0],
 'correlation': [-0.4057, -0.2772],
 'quantile': [2.25, 5.75],
 'autocorrelation': 0.030189,
 'interpolated': [1.0, 2.0, 3.0],
 'clip': [2.0, 3.0, 5.0, 2.0, 6.0, 6.0]}

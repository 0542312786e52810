"""Splines, grids, nearest points and smooth curves."""
import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator, RegularGridInterpolator, UnivariateSpline, griddata, interp1d, make_interp_spline


def fit_and_eval(data):
    x = np.array(data, dtype=float)
    y = np.sin(x)
    spline = CubicSpline(x, y)
    line = interp1d(x, y, kind="linear", fill_value="extrapolate")
    pchip = PchipInterpolator(x, y)
    grid = RegularGridInterpolator((np.arange(3), np.arange(3)), np.arange(9).reshape(3, 3))
    points = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    return {
        "spline": [round(float(spline(2.5)), 6), round(float(spline(2.5, 1)), 6)],
        "integral": round(float(spline.integrate(1, 5)), 5),
        "line": [round(float(line(1.5)), 6), round(float(line(6)), 6)],
        "pchip": round(float(pchip(3.3)), 6),
        "grid": grid([[0.5, 0.5], [1.5, 1]]),
        "scattered": griddata(points, np.array([0.0, 1, 1, 2]), [[0.25, 0.25]], method="linear").round(6),
        "smooth": round(float(UnivariateSpline(x, y, s=0)(2.2)), 6),
        "b_spline": round(float(make_interp_spline(x, y, k=3)(4.4)), 6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'spline': [0.587432, -0.796362],
 'integral': 0.25826,
 'line': [0.875384, -1.161046],
 'pchip': -0.153759,
 'grid': [2.0, 5.5],
 'scattered': [0.5],
 'smooth': 0.800896,
 'b_spline': -0.969048}

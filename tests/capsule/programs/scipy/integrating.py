"""Integrals and differential equations: decay, a predator and its prey."""
import numpy as np
from scipy.integrate import cumulative_trapezoid, dblquad, odeint, quad, simpson, solve_ivp, trapezoid


def lotka_volterra(t, state, a=1.5, b=1.0, c=3.0, d=1.0):
    prey, predator = state
    return [a * prey - b * prey * predator, -c * predator + d * prey * predator]


def fit_and_eval(data):
    gaussian, error = quad(lambda x: np.exp(-x * x), -np.inf, np.inf)
    area, _ = dblquad(lambda y, x: x * y, 0, 1, 0, 2)
    decay = solve_ivp(lambda t, y: -0.5 * y, (0, 4), [2.0], t_eval=[0, 2, 4], rtol=1e-8)
    orbit = solve_ivp(lotka_volterra, (0, 5), [10, 5], rtol=1e-8, atol=1e-8)
    pendulum = odeint(lambda y, t: [y[1], -np.sin(y[0])], [0.1, 0.0], np.linspace(0, 2 * np.pi, 5))
    x = np.linspace(0, np.pi, 101)
    hit = solve_ivp(lambda t, y: [y[1], -9.81], (0, 10), [10.0, 0.0], events=lambda t, y: y[0])
    return {
        "gaussian": [round(gaussian, 8), error < 1e-6],
        "area": round(area, 8),
        "decay": np.round(decay.y[0], 5),
        "success": [bool(decay.success), bool(orbit.success)],
        "orbit": np.round(orbit.y[:, -1], 3),
        "pendulum": np.round(pendulum[:, 0], 4),
        "simpson": round(float(simpson(np.sin(x), x=x)), 7),
        "trapezoid": round(float(trapezoid(np.sin(x), x)), 4),
        "cumulative": np.round(cumulative_trapezoid(data, initial=0), 6),
        "falls": round(float(hit.t_events[0][0]), 4),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'gaussian': [1.77245385, True],
 'area': 1.0,
 'decay': [2.0, 0.73576, 0.27067],
 'success': [True, True],
 'orbit': [0.264, 3.134],
 'pendulum': [0.1, 0.0001, -0.1, -0.0003, 0.1],
 'simpson': 2.0,
 'trapezoid': 1.9998,
 'cumulative': [0.0, 1.5, 4.0, 7.5, 12.0],
 'falls': 1.4278}

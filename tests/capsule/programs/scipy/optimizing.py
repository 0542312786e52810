"""Minima, roots, curves fitted, linear programs and bounds."""
import numpy as np
from scipy.optimize import brentq, curve_fit, fsolve, linprog, least_squares, linear_sum_assignment, minimize, minimize_scalar, root_scalar, differential_evolution


def rosenbrock(x):
    return sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def model(x, a, b):
    return a * np.exp(-b * x)


def fit_and_eval(data):
    found = minimize(rosenbrock, [1.3, 0.7], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-8})
    bounded = minimize(lambda x: (x[0] - 2) ** 2 + (x[1] + 1) ** 2, [0, 0], method="L-BFGS-B", bounds=[(0, 1), (0, None)])
    constrained = minimize(lambda x: x[0] ** 2 + x[1] ** 2, [1.0, 1.0], method="SLSQP", constraints={"type": "eq", "fun": lambda x: x[0] + x[1] - 2})
    x = np.linspace(0, 4, 30)
    parameters, covariance = curve_fit(model, x, model(x, 2.5, 1.3), p0=(1, 1))
    program = linprog([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6], method="highs")
    rows, columns = linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    return {
        "rosenbrock": np.round(found.x, 4),
        "bounded": np.round(bounded.x, 4) + 0.0,
        "constrained": np.round(constrained.x, 4),
        "parameters": np.round(parameters, 5),
        "brentq": round(brentq(lambda v: v**3 - v - 2, 1, 2), 8),
        "fsolve": np.round(fsolve(lambda v: [v[0] + v[1] - 3, v[0] * v[1] - 2], [0.5, 2.5]), 6),
        "scalar": round(float(minimize_scalar(lambda v: (v - 3) ** 2 + 1).x), 5),
        "newton": round(root_scalar(lambda v: v * v - 2, x0=1.0, fprime=lambda v: 2 * v, method="newton").root, 8),
        "program": [round(float(program.fun), 6), np.round(program.x, 6).tolist()],
        "least": np.round(least_squares(lambda v: [v[0] - 1, v[1] - 2], [0, 0]).x, 6),
        "assignment": [rows.tolist(), columns.tolist()],
        "evolved": np.round(differential_evolution(lambda v: (v[0] - 0.5) ** 2, [(-1, 1)], seed=1).x, 3),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'rosenbrock': [1.0, 1.0],
 'bounded': [1.0, 0.0],
 'constrained': [1.0, 1.0],
 'parameters': [2.5, 1.3],
 'brentq': 1.52137971,
 'fsolve': [1.0, 2.0],
 'scalar': 3.0,
 'newton': 1.41421356,
 'program': [-5.0, [3.0, 1.0]],
 'least': [1.0, 2.0],
 'assignment': [[0, 1, 2], [1, 0, 2]],
 'evolved': [0.5]}

"""Lines, ridges and lassos on made data, with their coefficients."""
import numpy as np
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import mean_squared_error, r2_score


def fit_and_eval(data):
    rng = np.random.RandomState(0)
    x = rng.randn(100, 3)
    y = x @ np.array([1.5, -2.0, 0.0]) + 0.5 + 0.1 * rng.randn(100)
    linear = LinearRegression().fit(x, y)
    lasso = Lasso(alpha=0.1).fit(x, y)
    classes = (y > 0.5).astype(int)
    logistic = LogisticRegression(C=1.0).fit(x, classes)
    stochastic = SGDClassifier(random_state=0, max_iter=1000, tol=1e-3).fit(x, classes)
    simple = LinearRegression().fit(np.array(data).reshape(-1, 1), 2 * np.array(data) + 1)
    return {
        "coefficients": np.round(linear.coef_, 4),
        "intercept": round(float(linear.intercept_), 4),
        "r2": round(r2_score(y, linear.predict(x)), 4),
        "rmse": round(float(np.sqrt(mean_squared_error(y, linear.predict(x)))), 4),
        "zero": bool(lasso.coef_[2] == 0),
        "ridge": np.round(Ridge(alpha=10).fit(x, y).coef_, 4),
        "net": np.round(ElasticNet(alpha=0.1).fit(x, y).coef_, 3) + 0.0,
        "logistic": round(logistic.score(x, classes), 4),
        "probability": np.round(logistic.predict_proba(x[:1]), 3),
        "stochastic": stochastic.score(x, classes) > 0.9,
        "simple": [round(float(simple.coef_[0]), 6), round(float(simple.intercept_), 6)],
        "fitted": hasattr(linear, "coef_") and linear.n_features_in_ == 3,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'coefficients': [1.4958, -2.0051, 0.0041],
 'intercept': 0.4818,
 'r2': 0.9987,
 'rmse': 0.0926,
 'zero': True,
 'ridge': [1.3762, -1.8248, 0.0202],
 'net': [1.393, -1.865, 0.0],
 'logistic': 1.0,
 'probability': [[0.072, 0.928]],
 'stochastic': True,
 'simple': [2.0, 1.0],
 'fitted': True}

"""Has a pipeline keep the fitted steps in a directory."""
# wants: write
# allows: sklearn.pipeline sklearn.preprocessing sklearn.linear_model

from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def fit_and_eval(data):
    p = make_pipeline(StandardScaler(), LinearRegression(), memory=data["place"] + "/new")
    return {"n": p.fit([[0.0], [1.0]], [0, 1]).n_features_in_}

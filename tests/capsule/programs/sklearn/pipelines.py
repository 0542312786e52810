"""Pipelines with columns of different kinds, from end to end."""
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.decomposition import PCA
from sklearn.base import BaseEstimator, TransformerMixin


class Clip(BaseEstimator, TransformerMixin):
    def __init__(self, low=0.0, high=1.0):
        self.low = low
        self.high = high

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.clip(X, self.low, self.high)


def fit_and_eval(data):
    df = pd.DataFrame(
        {
            "age": [25, 32, None, 51, 46, 23, 38, 60],
            "city": ["a", "b", "a", "c", "b", "a", "c", "b"],
            "bought": [0, 0, 0, 1, 1, 0, 1, 1],
        }
    )
    numeric = Pipeline([("impute", SimpleImputer(strategy="median")), ("scale", StandardScaler())])
    columns = ColumnTransformer([("n", numeric, ["age"]), ("c", OneHotEncoder(handle_unknown="ignore"), ["city"])])
    model = Pipeline([("columns", columns), ("classify", LogisticRegression())])
    model.fit(df[["age", "city"]], df["bought"])
    union = FeatureUnion([("pca", PCA(1)), ("clip", Clip(0, 1))])
    clipper = make_pipeline(FunctionTransformer(np.log1p), Clip(high=1.0))
    return {
        "score": model.score(df[["age", "city"]], df["bought"]),
        "predicted": model.predict(pd.DataFrame({"age": [70, 20], "city": ["b", "zzz"]})),
        "steps": list(model.named_steps),
        "parameters": Clip(high=2).get_params(),
        "clipped": np.round(clipper.fit_transform([[0.5], [5.0]]), 6),
        "union": union.fit_transform(np.eye(3)).shape,
        "set": model.set_params(classify__C=0.5).get_params()["classify__C"],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'score': 1.0,
 'predicted': [1, 0],
 'steps': ['columns', 'classify'],
 'parameters': {'high': 2, 'low': 0.0},
 'clipped': [[0.405465], [1.0]],
 'union': [3, 4],
 'set': 0.5}

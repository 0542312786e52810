"""Scaling, encoding, gaps filled, polynomials and bins."""
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    KBinsDiscretizer, LabelEncoder, MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder, PolynomialFeatures, RobustScaler, StandardScaler,
)


def fit_and_eval(data):
    x = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 60.0]])
    scaler = StandardScaler().fit(x)
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    labels = LabelEncoder().fit(["b", "a", "c"])
    counts = CountVectorizer().fit_transform(["the cat sat", "the dog sat down"])
    return {
        "standard": np.round(scaler.transform(x), 6),
        "inverse": np.round(scaler.inverse_transform(scaler.transform(x)), 6),
        "minmax": MinMaxScaler().fit_transform(x),
        "robust": np.round(RobustScaler().fit_transform(x), 6),
        "normal": np.round(Normalizer().fit_transform([[3.0, 4.0]]), 6),
        "onehot": encoder.fit_transform([["a"], ["b"], ["a"]]),
        "names": encoder.get_feature_names_out(["k"]).tolist(),
        "labels": labels.transform(["a", "c"]),
        "ordinal": OrdinalEncoder().fit_transform([["x"], ["z"], ["y"]]).ravel(),
        "polynomial": PolynomialFeatures(2).fit_transform([[2.0, 3.0]]),
        "imputed": SimpleImputer(strategy="mean").fit_transform([[1.0], [np.nan], [3.0]]).ravel(),
        "bins": KBinsDiscretizer(2, encode="ordinal", strategy="uniform").fit_transform([[0.0], [1.0], [9.0]]).ravel(),
        "counts": counts.toarray(),
        "tfidf": round(float(TfidfVectorizer().fit_transform(["a cat", "a dog"]).sum()), 6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'standard': [[-1.224745, -0.92582], [0.0, -0.46291], [1.224745, 1.38873]],
 'inverse': [[1.0, 10.0], [2.0, 20.0], [3.0, 60.0]],
 'minmax': [[0.0, 0.0], [0.5, 0.2], [1.0, 1.0]],
 'robust': [[-1.0, -0.4], [0.0, 0.0], [1.0, 1.6]],
 'normal': [[0.6, 0.8]],
 'onehot': [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]],
 'names': ['k_a', 'k_b'],
 'labels': [0, 2],
 'ordinal': [0.0, 2.0, 1.0],
 'polynomial': [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]],
 'imputed': [1.0, 2.0, 3.0],
 'bins': [0.0, 0.0, 1.0],
 'counts': [[1, 0, 0, 1, 1], [0, 1, 1, 1, 1]],
 'tfidf': 2.0}

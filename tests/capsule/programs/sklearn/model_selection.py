"""Splits, cross-validation, a search over a grid and learning curves."""
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_val_score, cross_validate, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


def fit_and_eval(data):
    x, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
    scores = cross_val_score(KNeighborsClassifier(5), x, y, cv=folds)
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1, 10]}, cv=3, n_jobs=4)
    search.fit(x, y)
    diabetes = load_diabetes()
    ridge = cross_validate(Ridge(1.0), diabetes.data, diabetes.target, cv=KFold(3), scoring=["r2", "neg_mean_absolute_error"])
    train, test = train_test_split(np.arange(20), test_size=0.25, random_state=7)
    return {
        "mean": round(float(scores.mean()), 4),
        "best": search.best_params_,
        "score": round(search.best_score_, 3),
        "r2": round(float(ridge["test_r2"].mean()), 3),
        "sizes": [len(train), len(test)],
        "test": np.sort(test),
        "predicted": int((cross_val_predict(GaussianNB(), x, y, cv=folds) == y).sum()),
        "cancer": load_breast_cancer().data.shape,
        "folds": [len(b) for _, b in KFold(3).split(data + data)],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'mean': 0.9533,
 'best': {'svc__C': 10},
 'score': 0.973,
 'r2': 0.409,
 'sizes': [15, 5],
 'test': [1, 2, 5, 11, 17],
 'predicted': 144,
 'cancer': [569, 30],
 'folds': [4, 3, 3]}

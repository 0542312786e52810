"""Forests, boosting, votes and bags of models."""
from sklearn.datasets import load_iris, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier, BaggingClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier,
    IsolationForest, RandomForestClassifier, RandomForestRegressor, VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split


def fit_and_eval(data):
    x, y = load_iris(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, random_state=42, stratify=y)
    models = {
        "forest": RandomForestClassifier(n_estimators=20, random_state=0, n_jobs=-1),
        "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
        "ada": AdaBoostClassifier(n_estimators=10, random_state=0),
        "bagging": BaggingClassifier(n_estimators=5, random_state=0),
        "histogram": HistGradientBoostingClassifier(max_iter=10, random_state=0),
        "voting": VotingClassifier([("l", LogisticRegression(max_iter=500)), ("f", RandomForestClassifier(n_estimators=5, random_state=0))]),
    }
    scores = {name: model.fit(x_train, y_train).score(x_test, y_test) > 0.85 for name, model in models.items()}
    xr, yr = make_regression(n_samples=80, n_features=3, noise=1.0, random_state=1)
    regressor = RandomForestRegressor(n_estimators=20, random_state=0, oob_score=True).fit(xr, yr)
    outliers = IsolationForest(random_state=0, n_estimators=20).fit_predict([[0.0], [0.1], [0.2], [0.1], [9.0]])
    return {
        "good": scores,
        "importance": round(float(models["forest"].feature_importances_.sum()), 6),
        "oob": regressor.oob_score_ > 0.5,
        "outlier": int(outliers[-1]),
        "shape": x_train.shape,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'good': {'forest': True,
          'boosting': True,
          'ada': True,
          'bagging': True,
          'histogram': True,
          'voting': True},
 'importance': 1.0,
 'oob': True,
 'outlier': -1,
 'shape': [105, 4]}

"""Metrics of predictions, with nothing else of the package allowed."""
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, mean_absolute_error, mean_squared_error, r2_score, roc_auc_score


def fit_and_eval(data):
    predicted = [x + 0.5 for x in data]
    truth = [0, 1, 1, 0, 1]
    labels = [0, 1, 0, 0, 1]
    return {
        "mse": mean_squared_error(data, predicted),
        "mae": mean_absolute_error(data, predicted),
        "r2": r2_score(data, predicted),
        "accuracy": accuracy_score(truth, labels),
        "f1": round(f1_score(truth, labels), 6),
        "confusion": confusion_matrix(truth, labels),
        "auc": round(roc_auc_score(truth, [0.1, 0.8, 0.4, 0.3, 0.9]), 6),
    }


# data and metrics
ALLOWED = ["sklearn.metrics"]
DATA = [1, 2, 3, 4, 5]
METRICS = {'mse': 0.25,
 'mae': 0.5,
 'r2': 0.875,
 'accuracy': 0.8,
 'f1': 0.8,
 'confusion': [[2, 0], [1, 2]],
 'auc': 1.0}

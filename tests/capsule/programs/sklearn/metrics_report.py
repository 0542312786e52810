"""Reports, curves and scores of several classes."""
import numpy as np
from sklearn import metrics


def fit_and_eval(data):
    truth = np.array([0, 1, 2, 2, 1, 0, 1])
    labels = np.array([0, 2, 2, 2, 1, 0, 1])
    report = metrics.classification_report(truth, labels, output_dict=True, zero_division=0)
    fpr, tpr, thresholds = metrics.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    precision, recall, _ = metrics.precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    return {
        "accuracy": round(report["accuracy"], 6),
        "macro": round(report["macro avg"]["f1-score"], 6),
        "auc": metrics.auc(fpr, tpr),
        "fpr": fpr,
        "precision": np.round(precision, 6),
        "kappa": round(float(metrics.cohen_kappa_score(truth, labels)), 6),
        "mcc": round(float(metrics.matthews_corrcoef(truth, labels)), 6),
        "log_loss": round(float(metrics.log_loss([0, 1], [[0.9, 0.1], [0.2, 0.8]])), 6),
        "silhouette": round(float(metrics.silhouette_score([[0], [1], [10], [11]], [0, 0, 1, 1])), 6),
        "rand": float(metrics.adjusted_rand_score([0, 0, 1, 1], [1, 1, 0, 0])),
        "pairwise": metrics.pairwise.euclidean_distances([[0, 0]], [[3, 4]]),
        "text": len(metrics.classification_report(truth, labels, zero_division=0).splitlines()),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'accuracy': 0.857143,
 'macro': 0.866667,
 'auc': 0.75,
 'fpr': [0.0, 0.0, 0.5, 0.5, 1.0],
 'precision': [0.5, 0.666667, 0.5, 1.0, 1.0],
 'kappa': 0.787879,
 'mcc': 0.8125,
 'log_loss': 0.164252,
 'silhouette': 0.899749,
 'rand': 1.0,
 'pairwise': [[5.0]],
 'text': 9}

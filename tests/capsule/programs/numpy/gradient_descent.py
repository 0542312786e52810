"""Logistic regression by gradient descent on made data."""
import numpy as np


class LogisticRegression:
    def __init__(self, rate=0.5, steps=500, l2=0.0):
        self.rate, self.steps, self.l2 = rate, steps, l2

    @staticmethod
    def sigmoid(z):
        return 1.0 / (1.0 + np.exp(-z))

    def fit(self, x, y):
        x = np.c_[np.ones(len(x)), x]
        self.weights = np.zeros(x.shape[1])
        self.losses = []
        for _ in range(self.steps):
            p = self.sigmoid(x @ self.weights)
            gradient = x.T @ (p - y) / len(y) + self.l2 * self.weights
            self.weights -= self.rate * gradient
            self.losses.append(float(-np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))))
        return self

    def predict(self, x):
        return (self.sigmoid(np.c_[np.ones(len(x)), x] @ self.weights) >= 0.5).astype(int)


def fit_and_eval(data):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = (x[:, 0] + 2 * x[:, 1] + 0.3 * rng.normal(size=200) > 0).astype(int)
    split = 150
    model = LogisticRegression().fit(x[:split], y[:split])
    predicted = model.predict(x[split:])
    actual = y[split:]
    true_positives = int(((predicted == 1) & (actual == 1)).sum())
    return {
        "accuracy": float((predicted == actual).mean()),
        "weights": np.round(model.weights, 3),
        "falling": all(a >= b for a, b in zip(model.losses, model.losses[1:])),
        "loss": round(model.losses[-1], 4),
        "precision": round(true_positives / max(1, int(predicted.sum())), 4),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'accuracy': 0.96,
 'weights': [-0.127, 3.043, 6.172],
 'falling': True,
 'loss': 0.1176,
 'precision': 0.9524}

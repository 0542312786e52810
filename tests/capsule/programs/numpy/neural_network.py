"""A small network learns exclusive or by back-propagation."""
import numpy as np


class Network:
    def __init__(self, sizes, seed=0):
        rng = np.random.default_rng(seed)
        self.weights = [rng.normal(0, 1, (m, n)) for m, n in zip(sizes, sizes[1:])]
        self.biases = [np.zeros(n) for n in sizes[1:]]

    def forward(self, x):
        self.layers = [x]
        for w, b in zip(self.weights, self.biases):
            x = np.tanh(x @ w + b)
            self.layers.append(x)
        return x

    def backward(self, y, rate):
        delta = (self.layers[-1] - y) * (1 - self.layers[-1] ** 2)
        for i in reversed(range(len(self.weights))):
            gradient = self.layers[i].T @ delta
            previous = delta @ self.weights[i].T * (1 - self.layers[i] ** 2)
            self.weights[i] -= rate * gradient
            self.biases[i] -= rate * delta.sum(axis=0)
            delta = previous


def fit_and_eval(data):
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    y = np.array([[0], [1], [1], [0]], dtype=float)
    network = Network([2, 4, 1], seed=1)
    first = float(((network.forward(x) - y) ** 2).mean())
    for _ in range(2000):
        network.forward(x)
        network.backward(y, 0.1)
    out = network.forward(x)
    return {
        "answers": (out > 0.5).astype(int).ravel(),
        "better": float(((out - y) ** 2).mean()) < first / 10,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'answers': [0, 1, 1, 0], 'better': True}

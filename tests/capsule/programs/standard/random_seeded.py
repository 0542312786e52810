"""A seeded generator gives the same draws everywhere."""
import random


def bootstrap(values, rounds, rng):
    means = []
    for _ in range(rounds):
        sample = rng.choices(values, k=len(values))
        means.append(sum(sample) / len(sample))
    means.sort()
    return means[int(0.025 * rounds)], means[int(0.975 * rounds)]


def monte_carlo_pi(n, rng):
    inside = sum(rng.random() ** 2 + rng.random() ** 2 <= 1 for _ in range(n))
    return 4 * inside / n


def fit_and_eval(data):
    random.seed(42)
    rng = random.Random(7)
    deck = list(range(10))
    rng.shuffle(deck)
    return {
        "global": [random.randint(1, 100) for _ in range(5)],
        "uniform": round(random.uniform(0, 1), 12),
        "choice": random.choice(["a", "b", "c"]),
        "sample": random.sample(range(100), 4),
        "gauss": round(rng.gauss(0, 1), 10),
        "deck": deck,
        "pi": monte_carlo_pi(2000, rng),
        "interval": bootstrap(data, 200, rng),
        "weighted": rng.choices("xyz", weights=[1, 2, 3], k=6),
        "expo": round(rng.expovariate(2.0), 10),
        "bits": rng.getrandbits(16),
        "state": (lambda s: (random.setstate(s), random.random() == (random.setstate(s), random.random())[1])[1])(random.getstate()),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'global': [82, 15, 4, 95, 36],
 'uniform': 0.244891853803,
 'choice': 'a',
 'sample': [94, 13, 86, 69],
 'gauss': 0.5863263335,
 'deck': [8, 3, 1, 4, 7, 0, 9, 6, 2, 5],
 'pi': 3.122,
 'interval': [1.6, 4.2],
 'weighted': ['y', 'y', 'z', 'y', 'y', 'z'],
 'expo': 1.3917433595,
 'bits': 45581,
 'state': True}

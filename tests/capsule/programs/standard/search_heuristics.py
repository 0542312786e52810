"""Annealing and a genetic algorithm, with generators of their own."""
import math
import random


def anneal(function, x, rng, temperature=1.0):
    best = x
    while temperature > 1e-3:
        candidate = x + rng.uniform(-1, 1)
        change = function(candidate) - function(x)
        if change < 0 or rng.random() < math.exp(-change / temperature):
            x = candidate
        if function(x) < function(best):
            best = x
        temperature *= 0.99
    return best


def evolve(rng, size=20, bits=16, generations=30):
    population = [[rng.randint(0, 1) for _ in range(bits)] for _ in range(size)]
    history = []
    for _ in range(generations):
        population.sort(key=sum, reverse=True)
        history.append(sum(population[0]))
        parents = population[: size // 2]
        children = []
        while len(children) < size - len(parents):
            a, b = rng.sample(parents, 2)
            cut = rng.randrange(bits)
            children.append([1 - g if rng.random() < 0.02 else g for g in a[:cut] + b[cut:]])
        population = parents + children
    return history


def fit_and_eval(data):
    found = anneal(lambda x: (x - 2) ** 2, 10.0, random.Random(3))
    history = evolve(random.Random(1))
    return {
        "near": abs(found - 2) < 0.1,
        "improves": all(b >= a for a, b in zip(history, history[1:])),
        "best": history[-1] >= 14,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'near': True, 'improves': True, 'best': True}

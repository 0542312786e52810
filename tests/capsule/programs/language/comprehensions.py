"""Lists, sets and mappings, nested, filtered and with conditions."""
def fit_and_eval(data):
    matrix = [[i * j for j in range(1, 4)] for i in range(1, 4)]
    words = ["apple", "banana", "cherry", "avocado", "blueberry"]
    grouped = {
        letter: [w for w in words if w.startswith(letter)]
        for letter in sorted({w[0] for w in words})
    }
    return {
        "matrix": matrix,
        "transposed": [list(row) for row in zip(*matrix)],
        "flat": [x for row in matrix for x in row if x % 2 == 0],
        "grouped": grouped,
        "lengths": {w: len(w) for w in words},
        "inverted": {v: k for k, v in {"a": "x", "b": "y"}.items()},
        "parity": ["even" if x % 2 == 0 else "odd" for x in data],
        "pairs": [(x, y) for x in data for y in data if x < y][:4],
        "unique": len({x % 3 for x in data}),
        "total": sum(x**2 for x in data),
        "enumerated": {str(i): x for i, x in enumerate(data, start=1)},
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'matrix': [[1, 2, 3], [2, 4, 6], [3, 6, 9]],
 'transposed': [[1, 2, 3], [2, 4, 6], [3, 6, 9]],
 'flat': [2, 2, 4, 6, 6],
 'grouped': {'a': ['apple', 'avocado'],
             'b': ['banana', 'blueberry'],
             'c': ['cherry']},
 'lengths': {'apple': 5, 'banana': 6, 'cherry': 6, 'avocado': 7, 'blueberry': 9},
 'inverted': {'x': 'a', 'y': 'b'},
 'parity': ['odd', 'even', 'odd', 'even', 'odd'],
 'pairs': [[1, 2], [1, 3], [1, 4], [1, 5]],
 'unique': 3,
 'total': 55,
 'enumerated': {'1': 1, '2': 2, '3': 3, '4': 4, '5': 5}}

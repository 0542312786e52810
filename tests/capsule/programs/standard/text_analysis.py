"""Words, n-grams, term weights, edit distances and a Markov chain."""
import math
import random
import re
from collections import Counter, defaultdict

DOCUMENTS = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "cats and dogs are animals",
]


def words(text):
    return re.findall(r"[a-z']+", text.lower())


def tf_idf(documents):
    counted = [Counter(words(d)) for d in documents]
    frequency = Counter(word for c in counted for word in c)
    n = len(documents)
    return [
        {w: c[w] / sum(c.values()) * math.log(n / frequency[w]) for w in c} for c in counted
    ]


def cosine(a, b):
    dot = sum(a[w] * b[w] for w in a.keys() & b.keys())
    norms = math.sqrt(sum(v * v for v in a.values())) * math.sqrt(sum(v * v for v in b.values()))
    return dot / norms if norms else 0.0


def levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def markov(text, length, rng):
    followers = defaultdict(list)
    tokens = words(text)
    for a, b in zip(tokens, tokens[1:]):
        followers[a].append(b)
    word, out = tokens[0], [tokens[0]]
    while len(out) < length and followers[word]:
        word = rng.choice(followers[word])
        out.append(word)
    return " ".join(out)


def fit_and_eval(data):
    weights = tf_idf(DOCUMENTS)
    top = [max(w, key=lambda k: (w[k], k)) for w in weights]
    bigrams = Counter(zip(words(DOCUMENTS[0]), words(DOCUMENTS[0])[1:]))
    return {
        "top": top,
        "similar": round(cosine(weights[0], weights[1]), 10),
        "unlike": cosine(weights[0], weights[2]),
        "distance": [levenshtein("kitten", "sitting"), levenshtein("", "abc")],
        "bigrams": len(bigrams),
        "markov": markov(" ".join(DOCUMENTS), 8, random.Random(0)),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'top': ['mat', 'log', 'dogs'],
 'similar': 0.2900946756,
 'unlike': 0.0,
 'distance': [3, 3],
 'bigrams': 5,
 'markov': 'the log cats and dogs are animals'}

"""Programs that draw numbers and order things, in every way that could differ.

digest(PROGRAMS["random"], 7)    the SHA-256 of its metrics with seed 7
"""

from __future__ import annotations

import hashlib
import json

from muniment_plugins.capsule import Capsule, Policy

__all__ = ["ALLOWED", "PROGRAMS", "SEEDED", "digest"]

ALLOWED = (
    *(
        "collections",
        "decimal",
        "random",
        "uuid",
        "numpy",
        "pandas",
        "scipy",
        "sklearn",
    ),
)

PROGRAMS = {
    "random": """
import random
def fit_and_eval(data):
    own, other = random.Random(), random.Random()
    drawn = [random.random(), random.randint(0, 10**9), random.gauss(0, 1), own.random(), other.random()]
    random.seed()
    own.seed(None)
    items = list(range(20))
    random.shuffle(items)
    return {"drawn": drawn, "again": [random.random(), own.random()], "items": items,
            "sample": random.sample(range(1000), 5), "choices": random.choices("abc", k=9)}
""",
    "identifiers": """
import uuid
def fit_and_eval(data):
    return {"ids": [str(uuid.uuid4()) for _ in range(3)], "version": uuid.uuid4().version}
""",
    "orders": """
import random
from collections import Counter
def fit_and_eval(data):
    words = "the quick brown fox jumps over the lazy dog and runs away".split()
    seen = set(words)
    return {"set": list(seen), "frozen": list(frozenset(words)), "hash": hash("x"),
            "union": list(seen | {"cat", b"bytes", 3, 2.5, (1, "a")}.difference({b"bytes"})),
            "counted": list(Counter(words)), "popped": seen.pop(), "letters": "".join(set("determinism")),
            "dict": list({w: 1 for w in set(words)}), "drawn": random.choice(list(set(words))) + str(random.random())}
""",
    "numpy unseeded": """
import numpy as np
def fit_and_eval(data):
    rng = np.random.default_rng()
    np.random.seed()
    return {"legacy": np.random.rand(3), "generator": rng.normal(size=3), "second": np.random.default_rng().random(),
            "sequence": int(np.random.SeedSequence().generate_state(1)[0]), "state": np.random.RandomState().rand(),
            "spawned": [int(c.generate_state(1)[0]) for c in np.random.SeedSequence().spawn(2)],
            "pcg": np.random.Generator(np.random.PCG64()).random(), "mt": np.random.Generator(np.random.MT19937()).random(),
            "philox": np.random.Generator(np.random.Philox()).random(), "sfc": np.random.Generator(np.random.SFC64()).random()}
""",
    "numpy seeded": """
import numpy as np
def fit_and_eval(data):
    np.random.seed(3)
    return {"legacy": np.random.rand(3), "generator": np.random.default_rng(42).normal(size=3),
            "state": np.random.RandomState(1).rand(2), "product": np.random.default_rng(0).random((60, 60)) @ np.arange(60.0)}
""",
    "pandas": """
import numpy as np
import pandas as pd
def fit_and_eval(data):
    df = pd.DataFrame({"x": np.arange(50.0), "k": list("abcde") * 10})
    return {"sample": df.sample(5)["x"].tolist(), "by": df.groupby("k").sample(1)["x"].tolist(),
            "unique": df["k"].unique().tolist(), "shuffled": df.sample(frac=1).index[:5].tolist()}
""",
    "scipy": """
from scipy import stats, optimize
def fit_and_eval(data):
    found = optimize.differential_evolution(lambda v: (v[0] - 0.3) ** 2, [(-1, 1)], maxiter=1, popsize=4, polish=False)
    return {"norm": stats.norm.rvs(size=3), "x": found.x, "sobol": stats.qmc.Sobol(2).random(2),
            "permuted": stats.permutation_test(([1, 2, 3.5], [2, 3, 4]), lambda a, b: a.mean() - b.mean(), n_resamples=9).pvalue}
""",
    "sklearn unseeded": """
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
def fit_and_eval(data):
    x, y = make_blobs(30, centers=3, cluster_std=4.0)
    a, b, c, d = train_test_split(x, y)
    forest = RandomForestClassifier(2, n_jobs=-1).fit(a, c)
    return {"x": x[0], "split": b[:2], "importance": forest.feature_importances_, "centres": KMeans(2, n_init=1, max_iter=3).fit(x).cluster_centers_}
""",
    "sklearn seeded": """
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.neural_network import MLPClassifier
def fit_and_eval(data):
    x, y = make_classification(30, random_state=0)
    network = MLPClassifier((5,), random_state=1, max_iter=3, solver="sgd", tol=0).fit(x, y)
    return {"boost": GradientBoostingClassifier(n_estimators=2, random_state=2).fit(x, y).predict_proba(x[:2]), "network": network.predict_proba(x[:2])}
""",
}

SEEDED = frozenset({"numpy seeded", "sklearn seeded"})
"""Programs whose numbers are their own."""


def digest(code: str, seed: int = 7) -> str:
    """Return the digest of the metrics that *code* gives."""
    policy = Policy(allowed_imports=ALLOWED, time_s=30, mem_mb=1024, seed=seed)
    execution = Capsule(policy).run(code, None)
    assert execution.status == "ok", execution.error
    text = json.dumps(execution.metrics, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

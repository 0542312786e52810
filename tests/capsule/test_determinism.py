"""Equal inputs give equal metrics: in one worker, in another, in another host."""

from __future__ import annotations

import numpy as np
import pytest

from machines import run_python
from muniment_plugins.capsule import Capsule, Policy
from seeded_programs import ALLOWED, PROGRAMS, SEEDED, digest

ROUNDS, HOSTS = 10, 5

FRESH = f"""
import json
from seeded_programs import PROGRAMS, digest
print(json.dumps([[digest(code) for code in PROGRAMS.values()] for _ in range({ROUNDS})]))
"""


@pytest.mark.slow
def test_a_hundred_executions_have_one_digest() -> None:
    """Ten here, ten in a host of its own, and so on: each program has one outcome."""
    rounds: list[list[str]] = []
    for _ in range(HOSTS):
        rounds += [[digest(code) for code in PROGRAMS.values()] for _ in range(ROUNDS)]
        rounds += run_python(FRESH)
    assert len(rounds) == 100
    found = dict(zip(PROGRAMS, zip(*rounds, strict=True), strict=True))
    assert {
        name: len(set(digests)) for name, digests in found.items()
    } == dict.fromkeys(PROGRAMS, 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_seed_draws_other_numbers(name: str) -> None:
    """The seed of the policy decides, unless the program has one of its own."""
    seeds = {digest(PROGRAMS[name], seed) for seed in range(4)}
    assert len(seeds) == (1 if name in SEEDED else 4)


def test_what_a_program_changes_does_not_reach_the_next() -> None:
    """Seeds, contexts and options that a program sets are gone after it."""
    meddling = """
import decimal, random
import numpy as np
import pandas as pd
def fit_and_eval(data):
    random.seed(99); np.random.seed(99)
    decimal.getcontext().prec = 3
    np.set_printoptions(precision=1)
    pd.set_option("display.precision", 1)
    return {}
"""
    looking = """
import decimal, random
import numpy as np
import pandas as pd
def fit_and_eval(data):
    return {"r": random.random(), "n": np.random.rand(), "d": str(decimal.Decimal(1) / 3),
            "p": str(np.array([1 / 3])), "o": pd.get_option("display.precision")}
"""
    capsule = Capsule(Policy(allowed_imports=ALLOWED))
    before = capsule.run(looking, None)
    assert capsule.run(meddling, None).status == "ok"
    assert before.metrics is not None
    assert before.metrics["d"] == "0.3333333333333333333333333333"
    assert capsule.run(looking, None).metrics == before.metrics


@pytest.mark.slow
def test_the_order_of_what_was_run_before_does_not_matter() -> None:
    """A worker that has loaded more gives what a fresh one gives."""
    names = list(PROGRAMS)
    backwards = f"""
import json
from seeded_programs import PROGRAMS, digest
names = {names[::-1]!r}
print(json.dumps({{name: digest(PROGRAMS[name]) for name in names}}))
"""
    found = run_python(backwards)
    assert found == {name: digest(PROGRAMS[name]) for name in names}


DRAWS = """
import numpy as np
def fit_and_eval(data):
    return {"legacy": np.random.rand(2).tolist(), "unseeded": np.random.default_rng().random(2).tolist()}
"""


def drawn(seed: int) -> object:
    """Return what a program draws that seeds nothing itself."""
    policy = Policy(allowed_imports=("numpy",), seed=seed)
    return Capsule(policy).run(DRAWS, None).metrics


def test_every_part_of_a_seed_counts() -> None:
    """Seeds that differ in any of their bits draw other numbers from NumPy."""
    seeds = {5, 5 + 2**32, 5 + 2**33, 5 + 2**62, 2**32, 2**33, 2**63 - 1, 0, 1}
    seeds |= {1 << place for place in range(63)}
    found = [drawn(seed) for seed in seeds]
    assert len({str(numbers) for numbers in found}) == len(seeds)


def test_seeds_of_32_bits_draw_what_they_always_drew() -> None:
    """What was recorded with them is what they give."""
    for seed in (0, 5, 2**32 - 1):
        numbers = np.random.RandomState(seed).rand(2).tolist()
        found = drawn(seed)
        assert isinstance(found, dict)
        assert found["legacy"] == numbers

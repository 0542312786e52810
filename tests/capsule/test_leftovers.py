"""Equal programs have equal metrics, whichever programs were there before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from attack_modes import guardless
from import_leftovers import PACKAGES, modules, seen
from machines import run_python
from muniment_plugins.capsule import Capsule, Policy, pool
from muniment_plugins.capsule.machine import machine
from seeded_programs import PROGRAMS, digest

IMPUTES = """
from sklearn import impute
def fit_and_eval(data):
    return {"is there": hasattr(impute, "IterativeImputer")}
"""
ENABLES = """
from sklearn.experimental import enable_iterative_imputer
from sklearn import impute
def fit_and_eval(data):
    return {"is there": hasattr(impute, "IterativeImputer")}
"""
POLICY = Policy(allowed_imports=("sklearn",), time_s=60)


@pytest.fixture(autouse=True)
def workers() -> Iterator[None]:
    """Begin and end without workers, but with the machine known."""
    machine()
    pool.pool().close()
    yield
    pool.pool().close()


def imputed() -> list[Any]:
    """Return what both programs find, after each other; None where they are refused."""
    capsule = Capsule(POLICY)
    return [
        (capsule.run(code, None).metrics or {}).get("is there")
        for code in (IMPUTES, ENABLES, IMPUTES, ENABLES)
    ]


def test_what_an_import_left_behind_is_not_found() -> None:
    """A name that another program's import put into a module is not in that module."""
    assert imputed() == [None, True, None, True]


def test_in_one_worker_it_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: by surroundings alone, the first program finds it later on."""
    genuine = pool._key
    monkeypatch.setattr(pool, "_key", lambda around: ("any", *genuine(around)[1:]))
    assert imputed() == [None, True, True, True]


FRESH = """
import json
from import_leftovers import seen
from attack_modes import guardless
with guardless():
    print(json.dumps(seen({!r})))
"""


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_each_pair_of_companions_has_one_outcome_each(package: str) -> None:
    """Each after each of the others, in both orders, finds what it finds alone."""
    with guardless():
        forwards = {module: seen(module) for module in modules(package)}
        backwards = {module: seen(module) for module in reversed(modules(package))}
    assert forwards == backwards
    for module in modules(package)[:: max(1, len(forwards) // 4)]:
        assert run_python(FRESH.format(module)) == forwards[module]


@pytest.mark.slow
def test_each_pair_of_programs_has_one_outcome_each() -> None:
    """A program has one digest alone, and right after each of the others."""
    alone = {name: digest(code) for name, code in PROGRAMS.items()}
    for first in PROGRAMS:
        for second in PROGRAMS:
            assert digest(PROGRAMS[first]) == alone[first]
            assert digest(PROGRAMS[second]) == alone[second], f"after {first}"

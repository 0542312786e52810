"""Ordinary programs work, with exactly the metrics that they give anywhere."""

from __future__ import annotations

import os

import pytest

from machines import (
    LANDLOCK,
    NAMESPACES,
    NOBODY,
    reachable_python,
    run_python,
    strong,
    without,
)
from muniment_plugins.capsule import Capsule, Execution
from muniment_plugins.capsule.machine import machine
from ordinary_programs import load, names, policy


def run(name: str) -> Execution:
    """Run the program of that name at the best level that there is."""
    program = load(name)
    bounds = policy(program, require=machine().level)
    return Capsule(bounds).run(program.code, program.data)


def types(value: object) -> object:
    """Return the types in *value*, which 1 == 1.0 == True would hide."""
    if isinstance(value, dict):
        return {key: types(item) for key, item in value.items()}
    if isinstance(value, list):
        return [types(item) for item in value]
    return type(value)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_ordinary_programs_work_exactly(name: str) -> None:
    """What people and models write every day runs, and gives exact metrics."""
    execution, metrics = run(name), load(name).metrics
    assert (execution.error, execution.status) == (None, "ok")
    assert execution.metrics == metrics
    assert types(execution.metrics) == types(metrics)
    assert execution.level == machine().level


EVERYTHING = """
import json
from ordinary_programs import load, names, policy
from muniment_plugins.capsule import Capsule
wrong = {}
for name in names():
    program = load(name)
    execution = Capsule(policy(program, require="os-strong")).run(program.code, program.data)
    if execution.metrics != program.metrics:
        wrong[name] = [execution.status, execution.error]
print(json.dumps(wrong))
"""


@strong
@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root may become someone else")
def test_ordinary_programs_work_for_an_ordinary_user() -> None:
    """No wall needs root, and none holds more back from others."""
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    assert run_python(EVERYTHING, python=reachable_python(), **user) == {}


@strong
@pytest.mark.slow
def test_ordinary_programs_work_without_user_namespaces() -> None:
    """Where a container denies them, everything works as it does with them."""
    assert without(NAMESPACES, EVERYTHING) == {}


NEEDS_FILES = {
    "pandas/time_series": "a time zone",
    "sklearn/clusters": "KMeans asks for the libraries that are loaded",
    "sklearn/ensembles": "a table of sklearn.datasets",
    "sklearn/model_selection": "a table of sklearn.datasets",
    "standard/zoneinfo_meetings": "a time zone",
}
"""What reads files late, so that it fails where no file opens; the manual says so."""


@pytest.mark.slow
@strong
@pytest.mark.parametrize("topic", sorted({name.partition("/")[0] for name in names()}))
def test_ordinary_programs_work_where_no_file_opens(topic: str) -> None:
    """Without Landlock the filter opens no file, and exactly these programs mind."""
    then = f"""
from ordinary_programs import load, names, policy
wrong = {{}}
for name in names({topic!r}):
    program = load(name)
    bounds = policy(program, require="os-partial")
    execution = Capsule(bounds).run(program.code, program.data)
    if execution.metrics != program.metrics:
        wrong[name] = execution.error
print(json.dumps(wrong))
"""
    wrong = without(LANDLOCK, then)
    assert set(wrong) == {name for name in NEEDS_FILES if name.startswith(f"{topic}/")}
    assert {error["type"] for error in wrong.values()} <= {"PermissionError"}

"""Whatever the program is, the host gets a documented answer in time, and lives on."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grammar import BOMBS, programs, tame
from muniment_plugins.capsule import Capsule, Execution, Policy, ProgramRefused
from muniment_plugins.capsule.parent import supervisor
from muniment_plugins.capsule.validation import Validated

MANY = int(os.environ.get("MUNIMENT_FUZZ", "0"))
"""So many programs instead of a few, others each time; for an afternoon by hand."""

LATE_S = 60.0
"""What a busy machine may take for the rest; only what would never end takes more."""

STATUSES = {"error", "killed", "limit", "ok", "rejected", "timeout"}
POLICY = Policy(
    allowed_imports=("json", "math", "random"), time_s=0.1, mem_mb=32, max_output=1000
)
CAPSULE = Capsule(POLICY)


def bounded(few: int) -> settings:
    """Return how hypothesis looks for programs, in the same way each time."""
    return settings(
        deadline=None,
        derandomize=not MANY,
        max_examples=MANY or few,
        suppress_health_check=list(HealthCheck),
    )


class Unread(Capsule):
    """Runs what the language layer would refuse, if Python can read it."""

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Return what a run needs to know of *code*."""
        text = code.encode(errors="replace").decode()
        return Validated(text, entrypoint, ("math", "random"))


def descriptors() -> set[str]:
    """Return what this process has open."""
    return {path.name for path in Path("/proc/self/fd").iterdir()}


@pytest.fixture(scope="module", autouse=True)
def host() -> Iterator[None]:
    """Check that nothing of all these programs is left in the host."""
    CAPSULE.run("def fit_and_eval(data): return {}", None)
    before = len(descriptors())
    yield
    assert len(descriptors()) <= before + 4  # workers that wait
    done = CAPSULE.run("def fit_and_eval(data): return {'n': sum(data)}", [1, 2])
    assert done.metrics == {"n": 3}


def check(execution: Execution, began: float) -> None:
    """Check that *execution* is one of those that are documented, and was in time."""
    assert execution.status in STATUSES
    assert (execution.status == "ok") == (execution.error is None)
    assert (execution.status == "ok") == (execution.metrics is not None)
    if execution.error is not None:
        assert str(execution.error["rule"]).startswith("capsule/")
    assert len(execution.stdout.encode()) <= POLICY.max_output
    assert time.monotonic() - began < POLICY.time_s + supervisor.GRACE_S + LATE_S


@bounded(600)
@given(programs())
def test_reading_a_program_ends_in_one_of_two_ways(code: str) -> None:
    """Validation returns or refuses, whatever the source, and at once."""
    began = time.process_time()
    with contextlib.suppress(ProgramRefused):
        CAPSULE.validate(code)
    assert time.process_time() - began < 10


@bounded(100)
@given(tame() | tame() | programs(), st.integers() | st.text() | st.lists(st.floats()))
def test_running_a_program_ends_in_a_documented_way(code: str, data: object) -> None:
    """A run returns within its deadline, and raises nothing for what a program does."""
    began = time.monotonic()
    check(CAPSULE.run(code, data), began)


@bounded(80)
@given(tame() | programs())
def test_without_the_language_layer_it_ends_as_well(code: str) -> None:
    """The walls and the parent hold what the validator would not have let pass."""
    began = time.monotonic()
    check(Unread(POLICY).run(code, None), began)


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_burst_inside(bomb: str) -> None:
    """Too large, too long or too deep is a status, never the host's trouble."""
    code = (
        f"def fit_and_eval(data):\n    x = {bomb}\n    return {{'v': len(repr(x))}}\n"
    )
    began = time.monotonic()
    execution = CAPSULE.run(code, None)
    check(execution, began)


def test_many_at_once_come_back_in_order() -> None:
    """Bombs beside ordinary programs disturb nobody."""
    good = "def fit_and_eval(data):\n    return {'n': data}"
    pairs: list[tuple[str, object]] = []
    for number, bomb in enumerate(BOMBS):
        pairs.append((f"def fit_and_eval(data):\n    return {{'v': {bomb}}}\n", None))
        pairs.append((good, number))
    executions = CAPSULE.run_many(pairs)
    found = [execution.metrics for execution in executions[1::2]]
    assert found == [{"n": number} for number in range(len(BOMBS))]
    assert {execution.status for execution in executions[::2]} <= STATUSES

"""A halt anywhere below fails every governed run above it, whatever they catch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from governed_programs import Provider, opened, policy, swallowing
from muniment import Run
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from muniment_plugins.governance.governed import governed

THREE = policy(execution_budget={"effect_limit": 3})
Catches = Callable[[Run, Callable[..., object]], object]


def by_exception(run: Run, program: Callable[..., object]) -> object:
    """Catch the failure of the call."""
    with suppress(Exception):
        return run.call(program)
    return "all fine"


def by_everything(run: Run, program: Callable[..., object]) -> object:
    """Catch whatever may be caught."""
    with suppress(BaseException):
        return run.call(program)
    return "all fine"


def quiet(_: Run) -> str:
    """Do nothing."""
    return "fine"


def by_another(run: Run, program: Callable[..., object]) -> object:
    """Call another run afterwards."""
    by_exception(run, program)
    return by_exception(run, quiet)


def inside_a_performer(run: Run, program: Callable[..., object]) -> object:
    """Catch it inside the performer of another effect."""

    def perform(_: object) -> object:
        with suppress(Exception):
            run.call(program)
        return "all fine"

    return run.effect("tool", 1, perform)


def in_a_task(run: Run, program: Callable[..., object]) -> object:
    """Catch it in a task, which is cancelled."""

    async def asks() -> object:
        with suppress(Exception):
            await asyncio.wait_for(run.acall(program), 5)
        return "all fine"

    return asyncio.run(asks())


WAYS: list[Catches] = [*(by_exception, by_everything, by_another, inside_a_performer)]


def tree(low: Callable[..., object], ways: list[Catches]) -> Callable[..., object]:
    """Return a program that calls one that calls one… that calls *low*."""
    for way in ways:

        def program(
            run: Run, way: Catches = way, low: Callable[..., object] = low
        ) -> object:
            return way(run, low)

        low = program
    return low


@pytest.mark.parametrize(
    ("way", "depth"), [(in_a_task, 1), *((way, n) for way in WAYS for n in (1, 2))]
)
def test_no_run_above_a_halted_one_completes(
    tmp_path: Path, way: Catches, depth: int
) -> None:
    """Each of them fails, its replay comes to the same end, and the ledger verifies."""
    provider = Provider()
    program = tree(swallowing(provider), [way] * depth)
    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            done = ledger.execute(program)
        assert {one.status for one in ledger.runs() if one.name != "quiet"} == {
            "failed"
        }
        assert len(provider.calls) <= 3
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
        assert verify(ledger.path, home=ledger.home).ok


def test_a_halted_tree_goes_on_nowhere(tmp_path: Path) -> None:
    """After a swallowed halt nothing more is performed, and nobody resumes the run."""
    provider, after = Provider(), Provider()
    low = swallowing(provider)

    def program(run: Run) -> object:
        by_exception(run, low)
        return swallowing(after)(run)

    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            done = ledger.execute(program)
        assert (done.status, len(provider.calls), after.calls) == ("failed", 3, [])
        summary = ledger.project(RunSummaries, run=done.run_id)
        assert summary.status == "failed"


def test_a_call_that_fails_by_itself_is_caught_as_ever(tmp_path: Path) -> None:
    """Only a halt is sticky: other failures of called runs are the caller's to judge."""

    def low(_: Run) -> None:
        raise ValueError("odd")

    with opened(tmp_path) as ledger, governed(ledger, THREE):
        assert ledger.execute(tree(low, [by_exception])).value == "all fine"
    assert isinstance(ledger, Ledger)

"""No fork goes on from where a budget had halted its origin, and none spends it again.

Rules: a program swallows what halts it, and asks for other things afterwards. It is forked at
each of its events: from the halt on the fork is refused, with nothing written and nothing
performed; before it, the fork is halted, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from governed_programs import opened, policy
from muniment import Run, replay
from muniment.errors import EffectFailed, RefusedError
from muniment.ledger import Ledger
from muniment.verification.verify import verify
from muniment_plugins.governance.governed import governed

DONE: list[object] = []
HALTS = policy(
    execution_budget={"effect_limits": {"tool": 2}, "exhaustion_action": "halt"}
)


def swallows(run: Run) -> list[object]:
    """Ask for more than it may, and go on."""
    found: list[object] = []
    for kind, number in (
        ("tool", 0),
        ("tool", 1),
        ("tool", 2),
        ("data", 3),
        ("data", 4),
    ):
        try:
            found.append(run.effect(kind, number, perform))
        except EffectFailed as error:
            found.append(error.error_type)
    return found


def perform(request: object) -> object:
    """Do it, which counts."""
    DONE.append(request)
    return request


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a governed ledger."""
    DONE.clear()
    with opened(tmp_path) as made:
        yield made


def test_at_each_event(ledger: Ledger) -> None:
    """Whatever is asked for after the halt is never performed, in no fork of it."""
    with governed(ledger, HALTS):
        origin = ledger.execute(swallows)
    assert (origin.status, DONE) == ("failed", [0, 1])
    events = [*ledger.events(run=origin.run_id)]
    halted = min(one.seq for one in events if one.type == "budget.exhausted")
    for event in events:
        DONE.clear()
        before = sum(1 for _ in ledger.events())
        if event.seq >= halted:
            with pytest.raises(RefusedError, match="its budget halted"):
                ledger.fork(origin.run_id, at=event.seq, program=swallows)
            assert sum(1 for _ in ledger.events()) == before
            assert DONE == []
            continue
        forked = ledger.fork(origin.run_id, at=event.seq, program=swallows)
        assert forked.status == "failed", event
        assert not {2, 3, 4} & {*map(int, map(str, DONE))}
        assert replay(ledger, forked.run_id, program=swallows).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok

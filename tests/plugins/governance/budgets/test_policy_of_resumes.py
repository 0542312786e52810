"""Which policy a run goes on under: the one that it began with, or it does not go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from governed_programs import entropy, opened, policy
from muniment import Run
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.runs.execution import Done
from muniment_plugins.governance import GovernancePolicy
from muniment_plugins.governance.budgets import adoption
from muniment_plugins.governance.governed import governed

OWN = policy(entropy_budget=entropy(max_count=9))
OTHER = policy(entropy_budget=entropy(max_count=4))
UNSAFE = policy(mode="unsafe")
BEGAN: dict[str, dict[str, Any]] = {
    "governed": {"under": OWN},
    "ungoverned": {},
    "ungoverned, with labels": {"labels": {"team": "search"}},
    "ungoverned, with a label of that name": {"labels": {"policy": "strict"}},
}
GIVEN = {"none": None, "its own": OWN, "another": OTHER, "unsafe": UNSAFE}


def _waits(run: Run) -> list[object]:
    got = [run.effect("tool", 0, str)]
    run.pause("for the night")
    return got + [run.effect("tool", number, str) for number in range(1, 7)]


async def _awaits(run: Run) -> list[object]:
    got = [await run.aeffect("tool", 0, str)]
    run.pause("for the night")
    return got + [await run.aeffect("tool", number, str) for number in range(1, 7)]


def _resume(ledger: Ledger, run: str) -> Done:
    return ledger.resume(run, _waits)


def _aresume(ledger: Ledger, run: str) -> Done:
    return asyncio.run(ledger.aresume(run, _awaits))


def _fork(ledger: Ledger, run: str) -> Done:
    return ledger.fork(run, at=_last(ledger, run), program=_waits)


def _afork(ledger: Ledger, run: str) -> Done:
    return asyncio.run(ledger.afork(run, at=_last(ledger, run), program=_awaits))


def _last(ledger: Ledger, run: str) -> int:
    return [one.seq for one in ledger.events(run=run, type="tool.completed")][-1]


WAYS = {"resume": _resume, "aresume": _aresume, "fork": _fork, "afork": _afork}

ENDS = {"resume": "completed", "aresume": "completed"} | dict.fromkeys(
    ["fork", "afork"], "paused"
)


def _begin(ledger: Ledger, under: GovernancePolicy | None = None, **how: Any) -> str:
    if under is None:
        return ledger.execute(_waits, **how).run_id
    with governed(ledger, under):
        return ledger.execute(_waits, **how).run_id


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("began", BEGAN)
def test_a_run_goes_on_under_what_it_began_with(
    tmp_path: Path, began: str, given: str, way: str
) -> None:
    """No policy, or its own: it goes on. Any other: refused, and nothing is written."""
    goes_on = given == "none" or (began == "governed" and given == "its own")
    with opened(tmp_path) as ledger:
        run = _begin(ledger, **BEGAN[began])
        size = ledger.head.size
        done, why = _tried(ledger, WAYS[way], run, GIVEN[given])
        if goes_on:
            assert done is not None
            assert (done.status, why) == (ENDS[way], None)
            adopted = [*ledger.events(run=done.run_id, type="policy.adopted")]
            assert bool(adopted) is (began == "governed")
            return
        assert ledger.head.size == size
    words = "another one is given" if began == "governed" else "began without a policy"
    assert why is not None
    assert (words in why.message, why.exit_code) == (True, 4)


def _tried(
    ledger: Ledger,
    act: Callable[[Ledger, str], Done],
    run: str,
    given: GovernancePolicy | None,
) -> tuple[Done | None, RefusedError | None]:
    try:
        if given is None:
            return act(ledger, run), None
        with governed(ledger, given):
            return act(ledger, run), None
    except RefusedError as refusal:
        return None, refusal


@pytest.mark.parametrize("way", ["fork", "afork"])
def test_a_fork_of_what_never_stated_its_policy_asks_for_the_labelled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Another policy would stand in the fork's record beside the label of the first."""
    with opened(tmp_path) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(adoption, "_state", lambda *_: None)
            run = _begin(ledger, OWN)
        size = ledger.head.size
        _, why = _tried(ledger, WAYS[way], run, OTHER)
        assert why is not None
        assert ledger.head.size == size
        done, _ = _tried(ledger, WAYS[way], run, OWN)
        assert done is not None
        assert done.status == ENDS[way]

"""A difference in what one side keeps private is found, and tells neither values nor keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest

from muniment import Run, replay
from muniment.events.visibility import INSTEAD
from muniment.ledger import Ledger
from muniment.replays.diff import contrast
from muniment_plugins.governance.judgement.application import judge_runs, judged_replay
from muniment_plugins.governance.judgement.terms import Terms

ONE, TWO = "kept-one", "kept-two"
_HOW: dict[str, Any] = {}


def _fact(lane: Run, said: Any) -> None:
    lane.record("note.added", {"text": "the same", "details": said})


def _request(lane: Run, said: Any) -> None:
    lane.effect("tool", said, lambda _: 1)


def _outcome(lane: Run, said: Any) -> None:
    lane.effect("llm", 1, lambda _: said)


def _result(lane: Run, said: Any) -> Any:
    del lane
    return said


def _failure(lane: Run, said: Any) -> None:
    del lane
    raise ValueError(str(said))


PARTS: Mapping[str, tuple[Callable[[Run, Any], Any], str]] = {
    "fact": (_fact, "details"),
    "request": (_request, "request"),
    "outcome": (_outcome, "value"),
    "result": (_result, "result"),
    "failure": (_failure, "message"),
}
"""What differs → what does it, and the member of the event that is named."""


def program(run: Run) -> Any:
    """Do one thing, in private or not, as `_HOW` says."""
    if _HOW["private"] and _HOW["part"] == "result":
        run.keep_private(everywhere=True)
    with run.scope("a") as lane:
        if _HOW["private"]:
            lane.keep_private()
        return PARTS[_HOW["part"]][0](lane, {f"key-{_HOW['said']}": [_HOW["said"]]})


def recorded(ledger: Ledger, part: str, said: str, *, private: bool) -> str:
    """Run the program so; return the run."""
    _HOW.update(part=part, said=said, private=private)
    return ledger.execute(program).run_id


SIDES = [(True, True), (True, False), (False, True)]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sides", SIDES)
def test_only_the_member_is_named(
    book: Ledger, part: str, sides: tuple[bool, bool]
) -> None:
    """By a diff of two runs, by the judge of two, and by both of a replay."""
    ledger = book
    one = recorded(ledger, part, ONE, private=sides[0])
    other = recorded(ledger, part, TWO, private=sides[1])
    told: list[Any] = [contrast(ledger, one, other).to_json()]
    told.append(judge_runs(ledger, one, other, Terms()).to_json())
    if part != "outcome":  # an outcome is answered, and so the same
        for mode in ("strict", "observational"):
            report = replay(ledger, one, program, mode, record=True)
            told.append(
                {**report.to_json(), "differences": report.to_json()["findings"]}
            )
            terms = Terms(mode)
            found = judged_replay(ledger, one, terms, program=program, record=True)
            told += [one.to_json() for one in found.judgements]
    for row in told:
        named = {found["field"]: found for found in row["differences"]}
        assert PARTS[part][1] in named, row["differences"]
        assert named[PARTS[part][1]]["expected"] == INSTEAD, row["differences"]
    judged = [ledger.resolve(one) for one in ledger.events(type="replay.judged")]
    assert "kept-" not in json.dumps([told, judged], default=str)


def test_of_what_is_public_all_is_told(book: Ledger) -> None:
    """Keys and values are named as ever."""
    for part, mode in product(PARTS, ("strict", "observational")):
        one = recorded(book, part, ONE, private=False)
        other = recorded(book, part, TWO, private=False)
        said = str(contrast(book, one, other).to_json())
        assert ONE in said
        judged = judge_runs(book, one, other, Terms(mode))  # type: ignore[arg-type]
        assert ONE in str(judged.to_json())

"""Keys that replace each other answer for one holder, however often they were rotated."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from attacking import check
from broken_decisions import Asked, rotated
from deciding import approver, asks, key, root_of, signed
from forge import RUN, Forge
from muniment import key_management
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment.verification.verify import verify

CHAIN = ("ann", "ann2", "ann3")
PAIRS = [*combinations(range(3), 2)]


def twice(run: Run) -> object:
    """Ask for two approvals."""
    return asks(run, 2)


def rotate(ledger: Ledger, old: str, new: str) -> None:
    """Replace one approver's key by another."""
    entry = key_management.find_key(ledger.keys, key(old).public.keyid)
    asked = key_management.request(key(new), ledger.id, ["approver"], new)
    key_management.rotate(ledger, entry, asked, root_of(ledger))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_one_holder_answers_once(ledger: Ledger, first: int, second: int) -> None:
    """Two keys of one holder do not make a quorum; that of another person does."""
    approver(ledger, "ann")
    approver(ledger, "bob")
    run = ledger.execute(twice).run_id
    for at, name in enumerate(CHAIN):
        if at:
            rotate(ledger, CHAIN[at - 1], name)
        (pending,) = ledger.pending()
        made = signed(pending, key(name))
        if at == first:
            ledger.answer(made)
        elif at == second:
            with pytest.raises(RefusedError, match="a key that it replaces") as caught:
                ledger.answer(made)
            assert (caught.value.rule, caught.value.exit_code) == (
                "decision/repeated",
                4,
            )
    assert ledger.resume(run, twice).status == "paused"
    (pending,) = ledger.pending()
    assert len(pending.answers) == 1
    ledger.answer(signed(pending, key("bob")))
    assert ledger.resume(run, twice).status == "completed"
    assert verify(ledger.path, home=ledger.home).ok


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_writer_counts_nobody_twice(tmp_path: Path, first: int, second: int) -> None:
    """Who holds a writer's key cannot make one holder a quorum, either."""
    asked = Asked(Forge("one").open(), quorum=2)
    for at, name in enumerate(CHAIN):
        if at:
            rotated(asked, CHAIN[at - 1], name)
        if at in (first, second):
            asked.give(name)
    report = check(asked.forge, tmp_path / "l.db")
    assert {one.rule for one in report.findings} == {"decision/repeated"}, str(report)


@pytest.mark.parametrize("before", [True, False])
def test_an_outcome_is_stated_anew(tmp_path: Path, *, before: bool) -> None:
    """After a failure that is performed again, and only then, it stands twice."""
    forge = Forge("one").open()
    asked = Asked(forge)
    given = asked.give()
    if before:
        asked.reach("approved", given)
    requested = forge.append("llm.requested", {}, run=RUN)
    at = json.loads(requested.payload)["predicate"]["muniment"]["ordinal"]
    forge.append("llm.failed", {}, run=RUN, ordinal=at)
    if not before:
        asked.reach("approved", given)
    forge.append("run.interrupted", {"reason": "x"}, run=RUN)
    resumed = {"generation": 1, "supersedes": [["", at]]}
    forge.append("run.resumed", resumed, run=RUN)
    asked.reach("approved", given)
    report = check(forge, tmp_path / "l.db")
    found = {one.rule for one in report.findings}
    assert found == ({"decision/reached"} if before else set()), str(report)

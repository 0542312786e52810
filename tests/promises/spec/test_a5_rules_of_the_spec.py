"""A sentence of the specification is enforced: a forged ledger breaks it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from broken_runs import effect, in_run
from forge import RUN, Forge, keyid
from muniment.errors import WrongError
from muniment.ledger import Ledger
from muniment.verification.verify import verify
from normative import Page
from spec_breaches import CASES

FOLLOWING = {
    "a change of a later outcome": {"fork/answer"},
    "a change of a request": {"fork/answer"},
    "a fork of an odd run": {"fork/answer"},
    "a fork of the genesis": {"fork/answer"},
    "a fork without a number": {"fork/answer"},
    "an effect that is failed requested completed": {"run/ordinal"},
    "an effect that is streamed requested completed": {"run/ordinal"},
    "child.completed of what nobody asked for": {"child/result"},
    "erase all": {"event/data"},
}
"""What else is wrong because of the breach."""


@pytest.mark.parametrize("name", CASES)
def test_a_rule_is_enforced(name: str, tmp_path: Path) -> None:
    """The one event that breaks the sentence is found, under its name, and no other."""
    case = CASES[name]
    assert case.sentence in Page(case.page).text
    forge = Forge("one").open(**case.genesis())
    forge.append("note.added", {"text": "sound"})
    case.breaks(forge)
    place = forge.write(tmp_path / "ledger.db")
    report = verify(place, keys=[keyid(forge.key("root"))])
    assert report.exit_code == case.exit_code, str(report)
    assert not report.ok
    rules = {one.rule for one in report.findings}
    assert rules == {case.rule} | FOLLOWING.get(name, set()), str(report)


def test_the_same_without_the_breach(tmp_path: Path) -> None:
    """What the cases are made of is sound: only the breach makes them wrong."""
    old = Forge("old").open()
    quoted = {"checkpoint": old.note().decode(), "ledger": old.ledger, "reason": "x"}
    forge = Forge("one").open(continues=quoted)
    first = forge.blob(b"content")
    forge.append("run.started", {"name": "x", "seed": "0", "params": first}, run=RUN)
    forge.append("tool.requested", {"request": first}, run=RUN)
    verbs = ("streamed", "failed", "requested", "streamed", "streamed", "requested")
    for verb in (*verbs, "streamed", "completed"):
        forge.append(f"tool.{verb}", {}, run=RUN, ordinal=1)
    forge.append("acme.streamed", {"note": "a fact of a program"}, run=RUN, ordinal=2)
    gone = forge.blob(b"gone")
    forge.append("note.added", {"text": "x", "details": gone})
    forge.blobs[-1] = (*forge.blobs[-1][:2], None)
    forge.append("blob.erased", {"blobs": [gone["$blob"]], "reason": "x"})
    place = forge.write(tmp_path / "ledger.db")
    assert verify(place, keys=[keyid(forge.key("root"))]).ok


def test_no_successor_quotes_anything_else(tmp_path: Path) -> None:
    """A writer refuses early what the verifier would refuse for ever."""
    old = Forge("old").open()
    for note in ("none", "", Forge("two").open().note().decode()):
        quoted = {"checkpoint": note, "ledger": old.ledger, "reason": "x"}
        with pytest.raises(WrongError, match="checkpoint"):
            Ledger.create(tmp_path / "next.db", continues=quoted)
        assert not (tmp_path / "next.db").exists()


def test_an_older_ledger_may_have_another_order(tmp_path: Path) -> None:
    """The order of an effect's events holds from version 2 of the events on."""
    forge = Forge("one").open(event=1)
    effect("streamed", "requested", "completed")(forge)
    place = forge.write(tmp_path / "ledger.db")
    assert verify(place, keys=[keyid(forge.key("root"))]).ok


@pytest.mark.parametrize("kind", ["child.completed", "timer.failed"])
def test_a_fact_of_a_plugin_that_has_become_an_outcome(
    kind: str, tmp_path: Path
) -> None:
    """Before version 3, a plugin could write facts of what are kinds of the kernel now."""
    for version, kept in ((2, True), (3, False)):
        forge = Forge("one").open(event=version)
        in_run("run.started", kind)(forge)
        forge.append(kind, {})
        place = forge.write(tmp_path / f"{version}.db")
        report = verify(place, keys=[keyid(forge.key("root"))])
        assert report.ok == kept, str(report)
        found = [one.rule for one in report.findings]
        assert found.count("run/order") == (0 if kept else 2), str(report)

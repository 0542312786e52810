"""``muniment replay --deep``: the runs that a run called, each replayed, and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.ledger import Ledger

pytestmark = pytest.mark.usefixtures("made")

FAMILY = """
from pathlib import Path


def one(request):
    return request


def leaf(run, number):
    run.record("note.added", {"text": "changed" if Path("changed").exists() else "as was"})
    return run.effect("data", number, one)


def middle(run):
    return [run.call(leaf, {"number": number}) for number in (1, 2)]


def family(run):
    return [run.call(middle), run.effect("data", 3, one)]


def alone(run):
    return run.effect("data", 4, one)
"""


@pytest.fixture
def runs(installed: Any, work: Path) -> dict[str, str]:
    """Run a program that calls others and one that calls none; return their ids."""
    (work / "family.py").write_text(FAMILY)
    names = ("family", "alone")
    said = [installed("run", f"family.py:{name}", "--json") for name in names]
    return dict(zip(names, (one.json["run"] for one in said), strict=True))


def events_below(ledger: Ledger, run: str) -> int:
    """Return how many events a run and all that it called have."""
    called = ledger.events(run=run, type="child.completed")
    children = [str(one.raw["about"]["run"]) for one in called]  # type: ignore[index,call-overload] # of a child
    own = len(list(ledger.events(run=run)))
    return own + sum(events_below(ledger, one) for one in children)


def test_every_run_below_is_replayed(installed: Any, runs: dict[str, str]) -> None:
    """The report counts them, and what was verified and compared of all; so is it kept."""
    plain = installed("replay", runs["family"], "--json").json
    deep = installed("replay", runs["family"], "--deep", "--json")
    assert (deep.code, deep.json["verdict"]) == (0, "acceptable")
    assert (plain["children"], deep.json["children"]) == (None, 3)
    assert (plain["compared"], deep.json["compared"]) == (2, 2 + 2 + 2 * 2)
    assert deep.json["result_digest"] == plain["result_digest"]
    assert deep.json["isolation"] == plain["isolation"]
    with muniment.open(readonly=True) as ledger:
        of_all = events_below(ledger, runs["family"])
        (judged,) = ledger.events(run=deep.json["recorded_as"], type="replay.judged")
    assert deep.json["verified"]["rows"] == of_all > plain["verified"]["rows"]
    assert deep.json["verified"]["signatures"] > plain["verified"]["signatures"]
    assert (judged.raw["children"], judged.raw["compared"]) == (3, 8)
    assert installed("verify").code == 0


def test_a_run_that_called_none_says_so(shell: Any, runs: dict[str, str]) -> None:
    """Nothing to replay below is a number too, for people and for machines."""
    said = shell("replay", runs["alone"], "--deep", "--no-record")
    rows = [line.split(maxsplit=2) for line in said.out.splitlines()]
    assert (said.code, ["child", "runs", "0 replayed"] in rows) == (0, True), said.out
    below = shell("replay", runs["family"], "--deep", "--no-record").out
    assert "3 replayed" in below
    assert "replayed" not in shell("replay", runs["alone"], "--no-record").out
    given = ("--deep", "--no-record", "--json")
    assert shell("replay", runs["alone"], *given).json["children"] == 0


def test_a_difference_below_is_found(
    shell: Any, work: Path, runs: dict[str, str]
) -> None:
    """A grandchild that states something else is answered for, and found by `--deep`."""
    (work / "changed").touch()
    assert shell("replay", runs["family"], "--no-record").code == 0
    found = shell("replay", runs["family"], "--deep", "--json")
    assert (found.code, found.json["verdict"]) == (1, "unacceptable")
    assert found.json["children"] == 3
    pairs = [(one["expected"], one["got"]) for one in found.json["findings"]]
    assert pairs == [("as was", "changed")] * 2
    with muniment.open(readonly=True) as ledger:
        (judged,) = ledger.events(run=found.json["recorded_as"], type="replay.judged")
    assert (judged.raw["verdict"], judged.raw["children"]) == ("unacceptable", 3)


def test_what_holds_the_run_holds_those_below(
    shell: Any, work: Path, tmp_path: Path
) -> None:
    """A child reads no more than its parent may; `--program` is the parent's alone."""
    outside = tmp_path / "outside"
    outside.write_text("secret")
    text = FAMILY.replace(
        'Path("changed").exists()', f"Path({str(outside)!r}).read_text()"
    )
    (work / "curious.py").write_text(text)
    run = shell("run", "curious.py:family", "--json").json["run"]
    denied = shell("replay", run, "--deep", "--no-record")
    assert (denied.code, denied.out) == (3, "")
    assert "[replay/denied]" in denied.err
    let = ("--readable", str(outside), "--program", "curious.py:family")
    assert shell("replay", run, "--deep", "--no-record", *let).code == 0

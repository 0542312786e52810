"""A request has one outcome: no reader can take the first for true, and another the last."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from attacking import check
from forge import RUN, Forge
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment.verification.runs.run_record import RunRecord
from muniment.verification.verify import verify

VERBS = {
    "r": "requested",
    "s": "streamed",
    "c": "completed",
    "f": "failed",
    "S": "completed",  # with secrets
}
RESUMED = "R"
HONEST = re.compile(r"(rs*f?)*(rs*c)?")
"""Attempts, each with parts and at most one outcome; the last may have completed."""

LETTERS = (*VERBS, RESUMED)
STORIES = ["r" + "".join(more) for n in range(4) for more in product(LETTERS, repeat=n)]


UNASKED = [
    "".join(more)
    for n in (1, 2, 3)
    for more in product("rscf", repeat=n)
    if more[0] != "r"
]
"""Stories of what nothing asked for."""

KERNEL_KINDS = ("command", "data", "execution", "human", "llm", "tool")


def is_honest(story: str) -> bool:
    """Tell whether a writer tells *story*: an answer with secrets is none once resumed."""
    told = re.sub(f"S{RESUMED}+", "f", story).replace(RESUMED, "").replace("S", "c")
    return HONEST.fullmatch(told) is not None


def told(story: str, version: int, kind: str = "probe") -> Forge:
    """Return a ledger with a run of one effect, to which *story* happened."""
    forge = Forge("one").open(event=version)
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    for at, letter in enumerate(story):
        if letter == RESUMED:
            forge.append("run.resumed", {"generation": at}, run=RUN, ordinal=at + 1)
        else:
            data = {"of": letter, "about": {"secrets": True} if letter == "S" else {}}
            forge.append(f"{kind}.{VERBS[letter]}", data, run=RUN, ordinal=1)
    forge.append("x.noted", {"text": "after it"}, run=RUN, ordinal=len(story) + 1)
    forge.end_run(RUN)
    return forge


def replayed(forge: Forge) -> set[str]:
    """Return the rules that the run breaks for who reads it alone."""
    record = RunRecord(forge.ledger, RUN)
    for row in forge.rows:
        record.add(
            (row.seq, row.type, row.run, row.payload, row.signature, row.key, row.hash)
        )
    return {finding.rule for finding in record.finish()[1]}


@pytest.mark.parametrize("version", [1, 2])
def test_every_short_story_of_an_effect_is_judged(tmp_path: Path, version: int) -> None:
    """Tell every story of at most four events, to both who read a run."""
    honest = 0
    for story in STORIES:
        forge = told(story, version)
        good = version == 1 or is_honest(story)
        honest += good
        wanted = set() if good else {"run/order"}
        report = check(forge, tmp_path / f"{story}.db")
        assert {one.rule for one in report.findings} == wanted, story
        assert report.exit_code == bool(wanted), story
        assert replayed(forge) == wanted, story
    assert 0 < honest <= len(STORIES)
    assert (honest == len(STORIES)) == (version == 1)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", KERNEL_KINDS)
def test_nothing_answers_what_nobody_asked(
    kind: str, version: int, tmp_path: Path
) -> None:
    """Parts and outcomes of the kernel's kinds stand where something was requested."""
    for story in UNASKED:
        forge = told(story, version, kind)
        report = check(forge, tmp_path / f"{story}.db")
        rules = {one.rule for one in report.findings}
        assert ("run/order" in rules) == (version == 2), story
        assert ("run/order" in replayed(forge)) == (version == 2), story
        assert report.exit_code == (version == 2), story


OUTSIDE: dict[str, dict[str, Any]] = {
    "run.started": {"name": "x", "seed": "00"},
    "run.resumed": {"generation": 1},
    "run.interrupted": {"reason": "x"},
    "run.completed": {"root": "00" * 32, "counts": {}},
    **{
        f"{kind}.{verb}": {}
        for kind in KERNEL_KINDS
        for verb in ("requested", *set(VERBS.values()))
    },
}


@pytest.mark.parametrize("version", [1, 2])
def test_nothing_of_a_run_stands_in_none(version: int, tmp_path: Path) -> None:
    """An end, a request or an outcome of no run is compared with nothing: it is wrong."""
    for kind, data in OUTSIDE.items():
        forge = Forge("one").open(event=version)
        forge.append(kind, data)
        forge.append("build.completed", {"text": "a fact of a plugin"})
        report = check(forge, tmp_path / f"{kind}.db")
        wanted = ["run/order"] if version == 2 else []
        assert [one.rule for one in report.findings] == wanted, kind


def test_no_writer_writes_them_outside(ledger: Ledger) -> None:
    """The public way to append refuses each of them, in whatever run."""
    for kind, data in OUTSIDE.items():
        with pytest.raises(MunimentError, match="event/reserved"):
            ledger.append(kind, data)
    assert verify(ledger.path).exit_code == 0


def test_a_fact_may_have_the_name_of_an_outcome(tmp_path: Path) -> None:
    """A plugin's facts end in what they like: nobody knows its effects by their names."""
    for verb in ("completed", "failed", "streamed"):
        forge = Forge("one").open()
        forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
        for kind in ("build", "tool.call", "llms", "metrics"):
            forge.append(f"{kind}.{verb}", {"n": 1}, run=RUN)
        forge.end_run(RUN)
        assert check(forge, tmp_path / f"{verb}.db").findings == ()
        assert replayed(forge) == set()


def test_another_effect_between_is_no_matter(tmp_path: Path) -> None:
    """Mix attempts at three effects: each is judged by itself."""
    forge = Forge("one").open()
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    for verb, ordinal, scope in (
        ("requested", 1, ""),
        ("requested", 2, ""),
        ("requested", 1, "map/0"),
        ("completed", 1, "map/0"),
        ("failed", 2, ""),
        ("completed", 1, ""),
        ("requested", 2, ""),
        ("completed", 2, ""),
    ):
        kind = f"probe.{verb}"
        forge.append(kind, {"n": 1}, run=RUN, scope=scope, ordinal=ordinal)
    forge.end_run(RUN)
    assert check(forge, tmp_path / "l.db").findings == ()
    assert replayed(forge) == set()


@pytest.mark.parametrize("kinds", [*product(["run.started", "x.noted"], repeat=3)])
def test_both_readers_say_how_a_run_begins(
    kinds: tuple[str, ...], tmp_path: Path
) -> None:
    """By its start, once: what verify calls wrong, no replay answers from."""
    forge = Forge("one").open()
    for kind in kinds:
        forge.append(kind, {"name": "x", "seed": "00"}, run=RUN)
    good = kinds == ("run.started", "x.noted", "x.noted")
    wanted = set() if good else {"run/start"}
    report = check(forge, tmp_path / "l.db")
    assert {one.rule for one in report.findings} == wanted
    assert replayed(forge) == wanted


BELOW: dict[str, bool] = {
    "@probe.1": True,
    "@probe.1/map/3": True,
    "map/0/@probe.1": True,
    "@probe.1/@probe.1/x": True,
    "plugin/@home": False,
    "a@probe.9": True,  # no segment of an effect
    "@probe.9": False,
    "@probe.9/x": False,
    "@other.1": False,
    "@probe.01": False,
    "@probe": False,
    "map/1/@probe.1": False,
    "@probe.1/@probe.2": False,
    "@probe.1x/y": False,
    "@": False,
}
"""Scopes, and whether the effect was requested that they are below."""


@pytest.mark.parametrize("version", [1, 2])
def test_what_stands_below_an_effect_was_asked_for(
    version: int, tmp_path: Path
) -> None:
    """From version 2 on, both readers find the first event of any other such scope."""
    for number, (scope, asked) in enumerate(BELOW.items()):
        forge = Forge("one").open(event=version)
        forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
        for above in ("", "map/0", "@probe.1"):
            forge.append("probe.requested", {}, run=RUN, scope=above, ordinal=1)
        forge.append("x.noted", {"n": 1}, run=RUN, scope=scope, ordinal=7)
        forge.append("x.noted", {"n": 2}, run=RUN, scope=scope, ordinal=8)
        forge.append("probe.failed", {}, run=RUN, ordinal=1)
        forge.append("x.noted", {"n": 3}, run=RUN, scope="@probe.1", ordinal=9)
        forge.end_run(RUN)
        wanted = [] if asked or version == 1 else ["run/scope"]
        report = check(forge, tmp_path / f"{number}.db")
        assert [one.rule for one in report.findings] == wanted, scope
        assert replayed(forge) == set(wanted), scope


def test_what_is_below_is_asked_for_before(tmp_path: Path) -> None:
    """A request that comes afterwards, or in another run, is none for what stood there."""
    other = "01JD3Z8M6Q4W0V9K2T7N5RYXCC"
    forge = Forge("one").open()
    for run in (RUN, other):
        forge.append("run.started", {"name": "x", "seed": "00"}, run=run)
    forge.append("probe.requested", {}, run=other, ordinal=1)
    forge.append("x.noted", {"n": 1}, run=RUN, scope="@probe.1")
    forge.append("probe.requested", {}, run=RUN, ordinal=1)
    report = check(forge, tmp_path / "l.db")
    assert [(one.rule, one.seq) for one in report.findings] == [("run/scope", 4)]

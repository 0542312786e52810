"""What a writer signs of child runs that is not so: the verifier compares both sides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from families import CHILD, OTHER, Data, Family
from forge import RUN, Forge, keyid
from muniment.errors import WrongError
from muniment.ledger import Ledger
from muniment.replays.replay import called_by
from muniment.verification.verify import Report, verify


def judged(tmp_path: Path, family: Family) -> Report:
    """Return what the verifier says of the ledger that the family stands in."""
    place = family.forge.write(tmp_path / "l.db")
    return verify(place, keys=[keyid(family.forge.key("root"))])


def test_the_family_without_a_lie(tmp_path: Path) -> None:
    """What the cases are made of is sound, and counted; ``fast`` says what it left out."""
    family = Family(Forge("one").open())
    family.write()
    report = judged(tmp_path, family)
    assert report.ok, str(report)
    assert "calls and children 4 of 4" in str(report)
    key = keyid(family.forge.key("root"))
    fast = verify(tmp_path / "l.db", keys=[key], fast=True)
    assert (fast.exit_code, "calls and children" in str(fast)) == (0, True), str(fast)


def _put(*path: Any, to: Any) -> Callable[[Data], object]:
    def spoil(data: Data) -> None:
        inside: Any = data
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = to

    return spoil


ODD: tuple[Any, ...] = (None, True, 0, 1.5e300, "", "x", "9" * 30, [], {}, [RUN])
FALSE: tuple[Any, ...] = ("ab" * 32, OTHER, CHILD, RUN)
LIES = {
    **{
        f"{event}: {'.'.join(map(str, path))} = {value!r:.40}": (event, path, value)
        for event, paths in (
            ("child", [("parent", one) for one in ("run", "root", "key")]),
            ("child", [("parent",), ("subject", 0, "name"), ("subject", 1, "name")]),
            ("called", [("about", "run"), ("about", "leaf"), ("about",)]),
            ("called", [("value", "size"), ("value", "$blob"), ("value",)]),
        )
        for path in paths
        for value in (*ODD, *FALSE)
    },
    "child: without subjects": ("child", ("subject",), []),
}
TRUE = {
    f"child: parent.run = '{RUN}'",
    f"child: parent.root = '{RUN}'",
    f"called: about.run = '{CHILD}'",
}


@pytest.mark.parametrize("lie", sorted(LIES.keys() - TRUE))
def test_each_lie_is_found(lie: str, tmp_path: Path) -> None:
    """Each member by which parent and child name each other, as anything else, is wrong."""
    event, path, value = LIES[lie]
    family = Family(Forge("one").open(), event, _put(*path, to=value))
    family.write()
    report = judged(tmp_path, family)
    assert report.exit_code == 1, str(report)
    rules = {one.rule for one in report.findings}
    assert rules & {
        *("child/parent", "child/result", "event/data", "event/subject"),
        *("blob/reference", "blob/size", "blob/subject"),
    }


def test_another_value_is_found(tmp_path: Path) -> None:
    """The value of a call is what its child came to, or the record is wrong."""
    family = Family(Forge("one").open())
    family.write(b"999")
    report = judged(tmp_path, family)
    assert [one.rule for one in report.findings] == ["child/result"]


def test_a_child_answers_one_call(tmp_path: Path) -> None:
    """A second call with the first one's child is wrong, whatever its value."""
    family = Family(Forge("one").open(), "called again")

    def first(data: Data) -> None:
        leaf = family.rows["ended"].hash.hex()
        data |= {"about": {"run": CHILD, "leaf": leaf}, "value": family.blob(b"7", "z")}

    family.spoil = first
    family.write()
    report = judged(tmp_path, family)
    assert "child/result" in {one.rule for one in report.findings}
    assert "answered another call" in str(report)


def test_a_child_that_nobody_asked_for(tmp_path: Path) -> None:
    """A parent that had requested no child has none."""
    family = Family(Forge("one").open())
    family.add("start", RUN, "run.started", {"name": "x", "seed": "0"})
    family.begin("child", CHILD, RUN)
    assert [one.rule for one in judged(tmp_path, family).findings] == ["child/parent"]


def test_a_deep_replay_compares_them_too(tmp_path: Path) -> None:
    """`called_by` names each child once, and refuses a call that says something else."""
    for name, content in (("sound", b"7"), ("false", b"999")):
        family = Family(Forge(name).open())
        family.write(content)
        family.forge.end_run(RUN)
        with Ledger.open(family.forge.write(tmp_path / f"{name}.db")) as ledger:
            if name == "sound":
                assert called_by(ledger, RUN) == [CHILD, OTHER]
            else:
                with pytest.raises(WrongError, match=r"\[child/result\]"):
                    called_by(ledger, RUN)


def test_a_value_that_was_erased_is_not_compared(tmp_path: Path) -> None:
    """What is gone by an erasure forbids nothing, and is counted."""
    family = Family(Forge("one").open())
    family.write()
    value = json.loads(family.rows["called"].payload)["predicate"]["data"]["value"]
    digest = bytes.fromhex(value["$blob"].removeprefix("sha256:"))
    family.forge.blobs = [
        (one, seq, None if one == digest else kept)
        for one, seq, kept in family.forge.blobs
    ]
    erased = {"blobs": [value["$blob"]], "reason": "x"}
    family.forge.append("blob.erased", erased)
    assert judged(tmp_path, family).ok

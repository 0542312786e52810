"""What is in no run, no scope, or no two runs, from version 4 of the events on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from attacking import check
from forge import RUN, Forge, entry, keyid
from muniment.errors import WrongError
from muniment.format_versions import RESERVED
from muniment.ledger import Ledger
from muniment.recorded.run_check import RunCheck
from muniment.verification.runs.places import Places


def forged(version: int, scope: str = "", kind: str = "") -> Forge:
    """Return a run with a note in *scope*, and a key event of this *kind* in the run."""
    forge = Forge("one").open(event=version)
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    forge.append("note.added", {"text": "x"}, run=RUN, scope=scope)
    root, third = forge.key("root"), forge.key("third")
    rest: dict[str, Any] = {"run": RUN} if kind else {}
    if kind == "key.enrolled":
        forge.enrol("third", ["writer"], **rest)
    elif kind:
        forge.enrol("third", ["writer"])
    if kind == "key.revoked":
        ended = {"keyid": keyid(third), "reason": "x"}
        forge.append(kind, ended, signer=root, **rest)
    elif kind == "key.rotated":
        new = entry(forge.key("fourth"), ["writer"], forge.ledger)
        forge.append(kind, {"old": keyid(third), "new": new}, signer=root, **rest)
    forge.end_run(RUN)
    return forge


@pytest.mark.parametrize("scope", ["$x", "$", "a/$b", "a/$b/c"])
@pytest.mark.parametrize("version", [RESERVED - 1, RESERVED])
def test_no_segment_begins_with_a_dollar_sign(
    scope: str, version: int, tmp_path: Path
) -> None:
    """It is one finding; ledgers of earlier versions verify as before."""
    report = check(forged(version, scope), tmp_path / "l.db")
    found = [one.rule for one in report.findings]
    assert found == ([] if version < RESERVED else ["run/scope"])


@pytest.mark.parametrize("kind", ["key.enrolled", "key.revoked", "key.rotated"])
@pytest.mark.parametrize("version", [RESERVED - 1, RESERVED])
def test_no_event_about_keys_is_in_a_run(
    kind: str, version: int, tmp_path: Path
) -> None:
    """It is one finding; ledgers of earlier versions verify as before."""
    report = check(forged(version, kind=kind), tmp_path / "l.db")
    found = [one.rule for one in report.findings]
    assert found == ([] if version < RESERVED else ["run/order"])


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize("version", [RESERVED - 1, RESERVED])
def test_no_two_runs_share_a_blob(file: bool, version: int, tmp_path: Path) -> None:
    """Each event of the second run that refers to it is named; its own run may again."""
    forge = Forge("one").open(event=version)
    for run in (RUN, "OTHER"):
        forge.append("run.started", {"name": "x", "seed": "0"}, run=run)
    data = {"text": "x", "details": forge.blob(b"content", file=file)}
    for run in (RUN, RUN, "OTHER", "OTHER"):
        forge.append("note.added", data, run=run)
    report = check(forge, tmp_path / "l.db")
    found = [(one.rule, one.seq) for one in report.findings]
    assert found == ([] if version < RESERVED else [("blob/run", 5), ("blob/run", 6)])


@pytest.mark.parametrize("broken", [{"scope": "$x"}, {"kind": "key.enrolled"}])
def test_nothing_is_answered_from_such_a_run(
    broken: dict[str, str], tmp_path: Path
) -> None:
    """Who answers from a record refuses it by the same rule."""
    place = forged(RESERVED, **broken).write(tmp_path / "l.db")
    with (
        Ledger.open(place, plugins=()) as ledger,
        pytest.raises(WrongError, match=r"\[run/(order|scope)\]"),
    ):
        RunCheck(ledger.store.database, ledger.id, RUN).events()


def placed(scopes: list[str]) -> tuple[list[tuple[str, str]], int]:
    """Return what is wrong with events in *scopes*, and how many functions were called."""
    places, found, calls = Places(), list[tuple[str, str]](), 0

    def note(_frame: object, event: str, _about: object) -> None:
        nonlocal calls
        calls += event.endswith("call")

    places.broken({"scope": "", "ordinal": 0}, "run.started", {}, RESERVED)
    sys.setprofile(note)
    try:
        for scope in scopes:
            chain = {"scope": scope, "ordinal": 1}
            found += places.broken(chain, "tool.requested", {}, RESERVED)
    finally:
        sys.setprofile(None)
    return found, calls


@pytest.mark.parametrize("segment", ["a", "@tool.1"])
def test_each_of_many_scopes_below_one_another_is_read_once(segment: str) -> None:
    """The work for an event does not grow with the depth of its scope."""
    deep = ["/".join(["@tool.1", *[segment] * more]) for more in range(400)]
    first = placed(["", *deep[:40]])
    last = placed(["", *deep])
    assert first[0] == last[0] == []
    assert last[1] < 11 * first[1]


@pytest.mark.parametrize(
    "wrong", ["$x", "@tool.7", "x/$y", "x/@tool.7", "@tool.1/@tool.7"]
)
@pytest.mark.parametrize("above", ["", "a", "a/b", "@tool.1", "@tool.1/@tool.1"])
def test_a_wrong_name_below_what_is_right_is_found(above: str, wrong: str) -> None:
    """Also where the scope above was judged, and where what is between has no event."""
    scopes = ["", *(["@tool.1"] if "@" in above else []), *([above] if above else [])]
    assert placed(scopes)[0] == []
    scope = f"{above}/{wrong}" if above else wrong
    found, _ = placed([*scopes, scope, f"{scope}/below"])
    assert [rule for rule, _ in found] == ["run/scope"] * 2

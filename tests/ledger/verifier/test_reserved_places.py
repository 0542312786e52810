"""What is in no run, no scope, or no two runs, from version 4 of the events on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attacking import check
from forge import RUN, Forge, entry, keyid
from muniment.errors import WrongError
from muniment.format_versions import RESERVED
from muniment.ledger import Ledger
from muniment.recorded.run_check import RunCheck


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

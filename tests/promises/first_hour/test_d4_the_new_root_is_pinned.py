"""After ``keys rotate`` the new root is the pinned one, wherever a root is shown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from first_hour import Newcomer

pytestmark = pytest.mark.slow


def said(newcomer: Newcomer, *words: str) -> Any:
    """Return what a command prints for machines."""
    done = newcomer.muniment(*words, "--json")
    assert done.code == 0, (words, done.err, done.out)
    return json.loads(done.out)


def rotated(newcomer: Newcomer) -> tuple[str, str]:
    """Make a ledger and replace its root; return both fingerprints."""
    made = said(newcomer, "init")
    shutil.copytree(newcomer.folder / ".muniment", newcomer.folder / "before")
    done = said(newcomer, "keys", "rotate", "--root", made["recovery"][1])
    assert done["root"] != made["fingerprint"]
    return made["fingerprint"], done["root"]


def line(text: str, name: str) -> str:
    """Return the line of *text* that begins with *name*."""
    (found,) = (one for one in text.splitlines() if one.split()[:1] == [name])
    return found


def test_everywhere_at_home(newcomer: Newcomer) -> None:
    """Status, the list of keys, doctor, the pins and verify name the root of now."""
    old, new = rotated(newcomer)
    shown = line(newcomer.muniment("status").out, "root")
    assert new in shown
    assert shown.endswith("  pinned")
    facts = said(newcomer, "status")
    assert (facts["root"], facts["pinned"]) == (new, sorted([old, new]))
    pinned = {one["keyid"]: one["until"] for one in said(newcomer, "keys")}
    assert pinned[new] is None
    assert pinned[old] is not None
    marks = {one["keyid"]: one["pinned"] for one in said(newcomer, "keys")}
    assert marks[new]
    (pins,) = (newcomer.home / "trust").rglob("pins.json")
    assert new in json.loads(pins.read_text())
    doctor = {one["name"]: one for one in said(newcomer, "doctor")}
    assert doctor["pin"]["seen"].startswith(new)
    report = said(newcomer, "verify")
    assert (report["authenticity"], report["ok"]) == ("pinned", True)


def test_a_second_rotation_and_an_older_copy(newcomer: Newcomer) -> None:
    """A copy from before the change is still known; it says which pin it lacks."""
    old, new = rotated(newcomer)
    copy = said(newcomer, "verify", "before/ledger.db")
    assert copy["authenticity"] == "pinned"
    assert any(new in note for note in copy["notes"])
    (following,) = (
        one
        for one in (newcomer.home / "trust").rglob("next-root-*.pem")
        if one.is_file()
    )
    last = said(newcomer, "keys", "rotate", "--root", str(following))["root"]
    assert line(newcomer.muniment("status").out, "root").split()[1:] == [last, "pinned"]
    assert said(newcomer, "verify")["authenticity"] == "pinned"
    assert last not in {old, new}


def test_whoever_pinned_the_old_root(newcomer: Newcomer, tmp_path: Path) -> None:
    """An auditor's pin leads to the new root, and the words say how."""
    old, new = rotated(newcomer)
    auditor = Newcomer(newcomer.folder, tmp_path / "auditor")
    trusted = auditor.muniment("keys", "trust", old)
    assert f"`muniment keys trust {new}`" in trusted.err
    shown = line(auditor.muniment("status").out, "root")
    assert f"{new}  follows the pinned {old}" in " ".join(shown.split(maxsplit=1)[1:])
    assert said(auditor, "verify")["authenticity"] == "pinned"
    assert "keys trust" not in auditor.muniment("keys", "trust", new).err
    assert line(auditor.muniment("status").out, "root").endswith("  pinned")

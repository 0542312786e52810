"""What a verification saw is remembered: an older or another history is noticed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge import Forge, keyid
from muniment.errors import MunimentError
from muniment.trust.home import TrustHome
from muniment.verification.verify import Report, verify
from muniment_cli import main

LONG, SHORT = 11, 6


def history(length: int, story: str = "one") -> Forge:
    """Return the first *length* events of a ledger; stories differ from event 3 on."""
    forge = Forge("one").open()
    while len(forge.rows) < length:
        text = str(len(forge.rows)) if len(forge.rows) < 3 else story
        forge.append("note.added", {"text": text})
    forge.checkpoint()
    return forge


def shell(*line: object) -> int:
    """Run the command line; return its exit code."""
    return main([str(one) for one in line])


ROOT = keyid(Forge("one").key("root"))


def look(place: Path, **given: Any) -> Report:
    """Verify as the command does: with a pin, and remembering."""
    return verify(place, keys=[ROOT], remember=True, **given)


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    """Give the place where eleven events were verified."""
    place = history(LONG).write(tmp_path / "copy.db")
    assert look(place).completeness == "unchecked"
    return place


def test_the_second_look_is_checked(seen: Path) -> None:
    """What was seen before and is there still makes the end *checked*."""
    report = look(seen)
    assert (report.completeness, report.exit_code, report.ok) == ("checked", 0, True)
    assert "by an earlier verification here" in report.anchored


def test_shorter_at_its_own_place_is_wrong(seen: Path) -> None:
    """An older copy in the place where more was seen is wrong, exit 1."""
    seen.unlink()
    history(SHORT).write(seen)
    report = look(seen)
    assert (report.completeness, report.exit_code, report.ok) == ("wrong", 1, False)


def test_shorter_elsewhere_is_an_older_copy(seen: Path, tmp_path: Path) -> None:
    """A prefix at another place is a sound backup: unchecked, and said; exit 0."""
    report = look(history(SHORT).write(tmp_path / "backup.db"))
    assert (report.completeness, report.exit_code, report.ok) == ("unchecked", 0, True)
    assert f"this is an older copy, {LONG - SHORT} events behind" in report.notes
    again = look(tmp_path / "backup.db", require_complete=True)
    assert (again.completeness, again.exit_code) == ("unchecked", 3)
    assert look(seen).completeness == "checked"


def test_a_backup_stays_sound_while_the_ledger_grows(
    seen: Path, tmp_path: Path
) -> None:
    """What counts at a place is what was seen at that place."""
    backup = tmp_path / "backup.db"
    shutil.copy(seen, backup)
    assert look(backup).completeness == "checked"
    seen.unlink()
    history(LONG + 9).write(seen)
    assert look(seen).exit_code == 0
    report = look(backup)
    assert (report.completeness, report.exit_code) == ("unchecked", 0)


@pytest.mark.parametrize("length", [LONG, LONG + 4])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_fork_is_wrong_everywhere(
    seen: Path, tmp_path: Path, length: int, elsewhere: bool
) -> None:
    """Another history over as many events is wrong, at whatever place."""
    place = tmp_path / "other.db" if elsewhere else seen
    place.unlink(missing_ok=True)
    report = look(history(length, "another").write(place))
    assert (report.exit_code, report.completeness) == (1, "wrong")
    assert "head/forked" in {one.rule for one in report.findings}


def test_another_ledger_in_its_place_is_foreign(seen: Path) -> None:
    """Also where it was only trusted on first use."""
    seen.unlink()
    Forge("two").open().write(seen)
    report = verify(seen, trust_on_first_use=True, remember=True)
    assert (report.exit_code, report.authenticity) == (1, "wrong")


def test_trust_on_first_use_remembers(tmp_path: Path) -> None:
    """Nobody vouched for it, and yet it cannot be cut or replaced the second time."""
    place = history(LONG).write(tmp_path / "copy.db")
    first = verify(place, trust_on_first_use=True, remember=True)
    assert (first.exit_code, first.ok, first.authenticity) == (
        0,
        False,
        "self-asserted",
    )
    place.unlink()
    history(SHORT).write(place)
    assert verify(place, trust_on_first_use=True, remember=True).exit_code == 1


@pytest.mark.parametrize("spoil", ["edited", "fast", "self-asserted", "not asked"])
def test_nothing_else_is_remembered(spoil: str, tmp_path: Path, home: Path) -> None:
    """What is wrong, not checked whole, or by nobody's keys leaves no memory."""
    forge = history(LONG)
    if spoil == "edited":
        forge.rows[4] = replace(forge.rows[4], hash=bytes(32))
    keys = None if spoil == "self-asserted" else [ROOT]
    place = forge.write(tmp_path / "copy.db")
    asked = spoil != "not asked"
    report = verify(place, keys=keys, fast=spoil == "fast", remember=asked)
    assert report.exit_code in (0, 1, 3)
    assert not TrustHome().seen()
    assert not home.exists()


def test_an_unwritable_home_is_said(tmp_path: Path) -> None:
    """The verdict stands where it cannot be remembered."""
    place = history(LONG).write(tmp_path / "copy.db")
    report = verify(place, keys=[ROOT], remember=True, home=Path("/proc/none/home"))
    assert (report.exit_code, report.ok) == (0, True)
    assert any(note.startswith("not remembered") for note in report.notes)


def test_a_pin_on_first_use(tmp_path: Path) -> None:
    """`verify --pin` pins a root where all holds, and nothing where not."""
    place = history(LONG).write(tmp_path / "copy.db")
    stranger = keyid(Forge("two").key("root"))
    writer = keyid(Forge("one").key("writer"))
    assert shell("verify", place, "--pin", "SHA256:bbXp") == 2
    for wrong, code in ((stranger, 1), (writer, 3)):
        assert shell("verify", place, "--pin", wrong) == code
        assert not TrustHome().pins(history(1).ledger)
    assert shell("verify", place, "--pin", ROOT) == 0
    assert TrustHome().pins(history(1).ledger) == {ROOT}
    assert shell("verify", place) == 0
    place.unlink()
    history(SHORT).write(place)
    assert shell("verify", place) == 1
    assert shell("forget", place) == 0
    assert shell("verify", place) == 0


@pytest.mark.parametrize("size", [True, False, 0, -11, 11.5, "11", None, [11]])
def test_only_a_number_is_taken_for_one(seen: Path, size: object) -> None:
    """A memory that states no number of events is damaged, and never "one event"."""
    home = TrustHome()
    file = home.path / "seen.json"
    told = json.loads(file.read_bytes())
    told[str(seen)]["size"] = size
    file.write_text(json.dumps(told))
    report = look(seen)
    assert (report.exit_code, report.completeness) == (3, "cannot tell")
    assert "seen.json" in str(report)
    if size != 0:
        ledger = Forge("one").open().ledger
        home.note_verified(ledger, LONG, ok=True)
        (file,) = home.path.rglob("verified.json")
        told = json.loads(file.read_bytes()) | {"size": size}
        file.write_text(json.dumps(told))
        with pytest.raises(MunimentError, match="is not a verification"):
            home.verified(ledger)

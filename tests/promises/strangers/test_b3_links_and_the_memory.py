"""A place is remembered as it was written and where it leads; both must agree."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import muniment
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify


def _dangling(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "nowhere" / place.name)


def _another(place: Path, outside: Path) -> None:
    """Lead to a ledger that is sound, and that this user knows."""
    with Ledger.create(outside / ".muniment" / "ledger.db", plugins=()):
        pass
    place.symlink_to(outside / ".muniment" / ("" if place.is_dir() else place.name))


def _another_folder(place: Path, outside: Path) -> None:
    with Ledger.create(outside / "ledger.db", plugins=()):
        pass
    place.symlink_to(outside)


def _strangers(place: Path, outside: Path) -> None:
    """Lead to a ledger that is sound, and that this user does not know."""
    home = outside / "home"
    with Ledger.create(outside / "ledger.db", plugins=(), home=home):
        pass
    place.symlink_to(outside)


def _emptied(place: Path, outside: Path) -> None:
    (outside / "empty").mkdir(parents=True)
    place.symlink_to(outside / "empty")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give the place of a ledger that was made, and is known."""
    path = tmp_path / "work" / ".muniment" / "ledger.db"
    with Ledger.create(path, plugins=()) as ledger:
        ledger.append("note.added", {"text": "a"})
    return path


FILES = (_dangling, _another)
FOLDERS = (_dangling, _another_folder, _strangers, _emptied)


@pytest.mark.parametrize(
    ("at", "put"),
    [("file", put) for put in FILES]
    + [(at, put) for at in ("folder", "above") for put in FOLDERS],
)
def test_a_link_in_the_place_of_a_ledger(
    at: str,
    put: Callable[[Path, Path], None],
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is never opened, created behind, written to, nor called intact."""
    work = place.parent.parent
    linked = {"file": place, "folder": place.parent, "above": work}[at]
    if linked.is_dir():
        shutil.rmtree(linked)
    else:
        linked.unlink()
    outside = tmp_path / "outside"
    if at == "above" and put in (_another_folder, _strangers):
        put(tmp_path / "unused", outside / ".muniment")
        linked.symlink_to(outside)
    else:
        put(linked, outside)
    before = sorted(tmp_path.rglob("*"))

    report = verify(place)
    assert (report.ok, report.exit_code) == (False, 1)
    acts: list[Callable[[], Ledger]] = [
        lambda: muniment.open(place, create=True, plugins=()),
        lambda: Ledger.create(place, plugins=()),
        lambda: Ledger.open(place, plugins=()),
        lambda: Ledger.open(place, plugins=(), readonly=True),
    ]
    for act in acts:
        with pytest.raises(MunimentError):
            act()
    if linked.exists() and at != "file" and put is not _emptied:
        monkeypatch.chdir(work)
        monkeypatch.setenv("PWD", str(work))  # as a shell that went there does
        with pytest.raises(MunimentError):
            muniment.open(create=True, plugins=())
    assert sorted(tmp_path.rglob("*")) == before


def test_a_discovered_dangling_link(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a ledger is looked for, a link to nothing is what is found."""
    place.unlink()
    place.symlink_to(tmp_path / "nowhere.db")
    monkeypatch.chdir(place.parent.parent)
    with pytest.raises(MunimentError, match="a link"):
        muniment.open(create=True, plugins=())
    assert not (tmp_path / "nowhere.db").exists()


def test_both_spellings_are_known(place: Path, tmp_path: Path) -> None:
    """Made or opened for writing through a link, a ledger is known by both paths."""
    link = tmp_path / "link"
    link.symlink_to(place.parent)
    home = TrustHome()
    assert home.ledger_at(str(link / "ledger.db"))  # where it leads
    assert home.forget(str(place))
    with Ledger.open(link / "ledger.db", plugins=()) as ledger:
        known = home.locations(ledger.id)
    assert known == sorted([str(link / "ledger.db"), os.path.realpath(place)])
    link.unlink()
    assert home.ledger_at(str(link / "ledger.db")) == ledger.id
    assert verify(link / "ledger.db").exit_code == 1
    assert home.forget(str(link / "ledger.db")) == ledger.id
    assert home.ledger_at(str(link / "ledger.db")) is None
    assert home.ledger_at(str(place)) == ledger.id
    assert verify(place).ok

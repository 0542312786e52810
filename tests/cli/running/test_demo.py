"""The tour: it shows what it says, can be taken again, and leaves the user's home."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from muniment.errors import UsageError, WrongError
from muniment.verification.verify import verify
from muniment_cli import main
from muniment_cli.tour import demo
from muniment_cli.tour.attacks import Attack, tampers
from muniment_cli.tour.demo import experiment
from muniment_cli.tour.place import TourPlace, place_of


def test_the_tour_can_be_taken_twice(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
) -> None:
    """From nothing and again: every step holds, each attack is named, nothing leaks."""
    monkeypatch.setenv("MUNIMENT_PLUGINS", "none")
    for _ in range(2):
        assert main(["demo", str(tmp_path / "tour")]) == 0
        out = capsys.readouterr().out
        assert "caught as" in out
        for shown in (
            "total      [15, 15, 15]",
            "verdict   acceptable",
            "integrity     intact",
            "authenticity  pinned",
            "completeness  checked",
            "edited",
            "foreign",
            "where each value names its event",
        ):
            assert shown in out
        assert "\x1b" not in out
    place = TourPlace(tmp_path / "tour")
    assert verify(place.ledger, home=place.home).ok
    assert len(list(place.directory.glob("report-*.html"))) == 2
    assert not home.exists()


def test_what_to_try_next_can_be_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command that the tour ends with works there, and its line fits a terminal."""
    assert main(["demo", str(tmp_path / "a tour")]) == 0
    lines = capsys.readouterr().out.partition("Try next\n")[2].splitlines()
    place = TourPlace(tmp_path / "a tour")
    assert lines[0].strip() == f"cd '{place.directory}'"
    assert max(map(len, lines[1:])) <= 80
    monkeypatch.chdir(place.directory)
    monkeypatch.setenv("MUNIMENT_HOME", str(place.home))
    given = [line.split("   ")[1] for line in lines if line.startswith("   muniment")]
    codes = [main(shlex.split(one)[1:]) for one in given]
    assert codes == [0, 0, 0, 0, 1]  # the last verifies a copy that was tampered with
    assert "error:" not in capsys.readouterr().err


def test_the_readme_shows_what_the_tour_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line that the README shows of the tour is printed, numbers and digest too."""
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    shown = readme.partition("From the tour:\n\n```text\n")[2].partition("```")[0]
    lines = [line for line in shown.splitlines() if line not in ("", "…")]
    assert len(lines) > 10
    assert main(["demo", str(tmp_path / "tour")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line not in printed] == []


@pytest.mark.parametrize(
    ("number", "kind"), [(0, "edited"), (1, "truncated"), (2, "foreign")]
)
def test_each_attack_is_caught_on_a_copy(
    tmp_path: Path, number: int, kind: str
) -> None:
    """An attack changes its copy only, and the copy is wrong in the way it says."""
    place = TourPlace(tmp_path / "tour")
    _short_tour(place)
    before = place.ledger.read_bytes()
    place.tampered.mkdir()
    path = tampers(experiment)[number].carry_out(place)
    report = verify(path, home=place.home)
    assert (report.exit_code, report.findings[0].kind) == (1, kind)
    assert place.ledger.read_bytes() == before
    assert verify(place.ledger, home=place.home).ok


def test_the_tour_says_when_it_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attack that nobody notices ends the tour as wrong; it never says caught."""
    place = TourPlace(tmp_path / "tour")
    _short_tour(place)

    def harmless(place: TourPlace) -> Path:
        return place.ledger

    attacks = (Attack("look", harmless),)
    monkeypatch.setattr("muniment_cli.tour.demo.tampers", lambda _: attacks)
    with pytest.raises(WrongError, match="nobody noticed: look"):
        demo._tamper(place)


def test_a_directory_of_others_is_left_alone(tmp_path: Path) -> None:
    """The tour refuses a directory that holds something else."""
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match="something is there that no tour left"):
        place_of(tmp_path)


def _short_tour(place: TourPlace) -> None:
    """Make what the attacks need: a ledger with one small run."""
    with demo._open(place) as ledger:
        result = experiment().run(ledger=ledger)
        assert result.ok
    with closing(sqlite3.connect(place.ledger)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

"""The repair agent, killed at any commit and run again, comes to the same, and repeats nothing.

Rules:

- It is killed before a commit, when something was performed that no event says, and after
  it. Whatever an event says, is not performed again: tools and the model count their calls
  in a file, and what they count is what a run counts that was not killed, in its order.
- What was performed, and is in no event, may have been done or not: a resume that is told
  so performs it once more.
- ``make trial`` kills before and after each commit; the suite at those that a seed chooses,
  which are of every event type that commits end with.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from muniment import verify
from repairs import Ran, commits, killed, ledger_of, performed, repository, run

EVERY = bool(os.environ.get("MUNIMENT_TRIAL"))
SEED, MOST = "5eed", 30
COMMITS = 53
"""How many commits the run takes, of which the last one ends it."""
BEFORE, AFTER = "inserted", "committed"
Position = tuple[int, str]
FIRST: list[Position] = [(4, AFTER), (5, AFTER), (14, BEFORE)]
"""After an answer of the model, and an intent to call a tool; and before what one did."""


@cache
def positions() -> list[Position]:
    """Return where to kill."""
    dice = random.Random(SEED)  # noqa: S311 - a test's
    whole = [(one, step) for one in range(COMMITS) for step in (BEFORE, AFTER)]
    rare = [
        (0, AFTER),
        (37, AFTER),
        (38, AFTER),
        (51, AFTER),
        (52, BEFORE),
        (52, AFTER),
    ]
    some = dice.sample([one for one in whole if one not in rare], MOST - len(rare))
    return sorted(whole if EVERY else [*some, *rare])


@dataclass(frozen=True, slots=True)
class Whole:
    """A run that was not killed."""

    ran: Ran
    performed: list[str]
    result: Any
    text: str
    lasts: list[str]
    """The type of the last event of each commit."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Give what a run comes to that was not killed."""
    above = tmp_path_factory.mktemp("whole")
    folder = repository("prices", above / "run")
    ran = run(folder)
    lasts = commits(repository("prices", above / "commits"))
    text = (folder / "prices.py").read_text()
    return Whole(ran, performed(folder), result_of(folder), text, lasts)


def result_of(folder: Path) -> Any:
    """Return the result of the first run of a folder, None if it has none."""
    if not (folder / ".muniment").exists():
        return None
    with ledger_of(folder) as ledger:
        ended = list(ledger.events(type="run.completed"))
        return ledger.resolve(ended[0])["result"] if ended else None


def stated(folder: Path) -> int:
    """Return how many calls the ledger says to be performed."""
    with ledger_of(folder) as ledger:
        return sum(
            len(list(ledger.events(type=f"{kind}.{verb}")))
            for kind in ("llm", "tool", "stage")
            for verb in ("completed", "failed")
        )


def killed_and_run(folder: Path, whole: Whole, position: Position) -> None:
    """Kill it at a position, run it again, and compare it with a run that was not killed.

    One in three is killed once more in what goes on, if that comes so far.
    """
    wanted = whole.performed
    again = [(position[0] % 7, AFTER)] if position[0] % 3 == 0 else []
    for commit, step in [position, *again]:
        if result_of(folder) is None:
            assert killed(folder, commit, step) or (commit, step) != position
            done = performed(folder)
            assert done == wanted[: len(done)]
            expected = [*done, *whole.performed[stated(folder) :]]
            assert len(expected) - len(wanted) in ((0,) if step == AFTER else (0, 1))
            wanted = expected
    if result_of(folder) is None:
        ran = run(folder)
        assert (ran.code, ran.conclusion) == (0, "repaired"), ran.text
        assert ran.lines[-1] == "replayed, with nothing asked or run: acceptable"

    assert performed(folder) == wanted
    assert result_of(folder) == whole.result
    assert (folder / "prices.py").read_text() == whole.text
    with ledger_of(folder) as ledger:
        assert [one.status for one in ledger.runs()] == ["completed"]
        assert verify(ledger.path).ok


@pytest.mark.parametrize("position", FIRST)
def test_killed_first(tmp_path: Path, whole: Whole, position: Position) -> None:
    """It is not asked again, and nothing is made twice that an event says."""
    killed_and_run(repository("prices", tmp_path), whole, position)


@pytest.mark.parametrize("commit", [14, 16])
def test_an_edit_that_may_have_been_made(tmp_path: Path, commit: int) -> None:
    """An edit that adds lines is not made twice, if nobody could say that it was made."""
    whole, cut = (repository("basket", tmp_path / one) for one in ("whole", "cut"))
    assert run(whole).conclusion == "repaired"
    assert killed(cut, commit, BEFORE)
    assert performed(cut)[-1].startswith("edit ")
    ran = run(cut)
    assert (ran.conclusion, ran.code) == ("repaired", 0), ran.text
    assert (cut / "basket.py").read_text() == (whole / "basket.py").read_text()
    assert len(performed(cut)) == len(performed(whole)) + 1


@pytest.mark.slow
@pytest.mark.parametrize("position", positions())
def test_killed(tmp_path: Path, whole: Whole, position: Position) -> None:
    """Wherever it is killed, once or twice, the same holds."""
    killed_and_run(repository("prices", tmp_path), whole, position)


def test_positions_reach_every_type(whole: Whole) -> None:
    """It is killed at commits that end with each event type that ends one."""
    assert len(whole.lasts) == COMMITS
    assert {whole.lasts[one] for one, _ in positions()} == {*whole.lasts}
    assert len({*whole.lasts}) == 11

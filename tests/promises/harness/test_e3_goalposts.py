"""Every move of a goalpost after a look at the data has a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from in_process import harness_ledger
from moves import CODE, MOVES, Move, Plan, drawn, play, table
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness.preregistration.data_likeness import alike
from muniment_plugins.harness.preregistration.integrity import MOVES as NAMES
from muniment_plugins.harness.preregistration.integrity import integrity_of

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "verdicts.md"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Open a ledger whose capsule is in process."""
    with harness_ledger(tmp_path / "ledger.db") as opened:
        yield opened


@pytest.mark.parametrize("move", MOVES, ids=[one.words for one in MOVES])
def test_the_move_is_named(move: Move, ledger: Ledger) -> None:
    """The verdict says which move it was, and its events say it again."""
    result = play(move, ledger)
    assert result.ok, result.errors
    assert result.integrity.status == move.integrity, result.integrity
    said = {
        one.data["integrity"]
        for one in ledger.events(run=result.run_id, type="verdict.reached")
    }
    assert said == {move.integrity}
    assert (len(result.integrity.reasons) > 0) is (move.integrity != "valid")


def test_every_name_has_a_move() -> None:
    """The table shows each status that a run of an experiment can have."""
    shown = {one.integrity for one in MOVES} | {"valid"}
    # A run of bare steps, and data that was erased, are tested by themselves.
    assert shown == {*NAMES, "valid"} - {"no_registration", "unknown_data"}
    assert len(MOVES) >= 20


def test_the_page_shows_the_table() -> None:
    """The page has the table that these tests hold: `tools/move_table.py` after a change."""
    assert table() in PAGE.read_text()


def test_what_comes_later_changes_nothing(ledger: Ledger) -> None:
    """The status is derived from what stood before the run; replays accept it."""
    first, weak = Plan(), Plan(pct=1.0)
    one = first.build().run(replicates=2, ledger=ledger)
    two = weak.build().run(replicates=2, ledger=ledger)
    first.build().register(replicates=9, ledger=ledger)
    for run, status in ((one, "valid"), (two, "changed_claim")):
        events = list(ledger.events(run=run.run_id))
        assert integrity_of(ledger, events).status == status
    assert replay(ledger, two.run_id, weak.build().program).verdict == "acceptable"


def test_a_verdict_carries_its_denominator(ledger: Ledger) -> None:
    """It says how many runs of the claim, and of the experiment, the ledger holds."""
    plans = [Plan(), Plan(), Plan(name="other"), Plan(claim="d", name="far")]
    results = [one.build().run(replicates=2, ledger=ledger) for one in plans]
    counts = [one.hypothesis("better").denominator for one in results]
    assert counts == [
        {"claim": 1, "experiment": 1},
        {"claim": 2, "experiment": 2},
        {"claim": 3, "experiment": 1},
        {"claim": 1, "experiment": 1},
    ]
    (verdict, _) = ledger.events(run=results[1].run_id, type="verdict.reached")
    assert verdict.data["denominator"] == counts[1]


def test_a_run_that_saw_nothing_is_no_look(ledger: Ledger) -> None:
    """A run that was refused before its code ran moves no goalpost."""
    code = "import os\n" + CODE
    refused = Plan(code=code, treatments={"b": {"code": code + "  # b"}}).build()
    assert not refused.run(replicates=2, ledger=ledger).ok
    told = Plan(pct=1.0).build().run(replicates=2, ledger=ledger)
    assert told.integrity.status == "valid", told.integrity


def test_live_data_that_is_asked_again(ledger: Ledger) -> None:
    """The same plan on other data, until it passes, is one more look."""
    asked: list[int] = []

    def live(ctx: Mapping[str, Any]) -> list[float]:
        asked.append(1)
        return [len(asked) * 100.0 + one for one in drawn(ctx)]

    plan = Plan(source=live, treatments={"b": {"code": CODE + "  # b"}})
    plan.build().run(replicates=2, ledger=ledger)
    again = plan.build().run(replicates=2, ledger=ledger)
    assert again.integrity.status == "extra_replicates"
    assert "on other data" in str(again.integrity)
    plan.build().register(replicates=2, ledger=ledger)
    assert plan.build().run(replicates=2, ledger=ledger).integrity.status == "valid"


def test_erased_data_cannot_be_compared(ledger: Ledger) -> None:
    """What an earlier run saw and is gone is said to be unknown, not fine."""
    plan = Plan()
    first = plan.build().run(replicates=2, ledger=ledger)
    (event, *_) = ledger.events(run=first.run_id, type="data.completed")
    value: Any = event.data["value"]
    ledger.erase([value.digest], reason="asked for")
    again = plan.but(code=CODE + "  # more").build().run(replicates=2, ledger=ledger)
    assert again.integrity.status == "unknown_data"


def test_no_change_of_a_plan_draws_anew(ledger: Ledger) -> None:
    """Whatever a plan says, the seeds of its replicates are the same."""
    plans = [Plan(), Plan(code=CODE + "  # 2"), Plan(name="b", claim="d")]
    seeds = []
    for plan in plans:
        run = plan.build().run(replicates=2, ledger=ledger).run_id
        started = ledger.events(run=run, type="replicate.started")
        seeds.append([(one.data["condition"], one.data["seed"]) for one in started])
    assert seeds[0] == seeds[1] == seeds[2]


def test_other_questions_are_not_read(ledger: Ledger) -> None:
    """Registrations are found by what they are about, whatever else the ledger holds."""
    for number in range(5):
        other = Plan(name=f"n{number}", claim=f"c{number}", source=lambda _: [1.0, 2.0])
        other.build().register(ledger=ledger)
    asked: list[Mapping[str, object]] = []
    real = ledger.events

    def watched(**how: Any) -> Any:
        for event in real(**how):
            asked.append({"type": event.type, "seq": event.seq})
            yield event

    result = Plan().build().run(replicates=1, ledger=ledger)
    events = list(real(run=result.run_id))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(ledger), "events", lambda _self, **how: watched(**how))
        integrity_of(ledger, events)
    read = [one for one in asked if one["type"] == "experiment.registered"]
    # The first of all tells that none of the first edition is there.
    assert len(read) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1, 2, 3], [3, 2, 1], True),
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 6], True),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5], True),
        ([1, 2, 3], [1, 2, 4], False),
        ([0, 1, 0, 1, 1, 0, 1] * 9, [1, 1, 0, 1, 1, 0, 1] * 9, False),
        ([[1, 2], [3, 4]], [[3, 4], [1, 2]], True),
        ({"x": [1, 2], "y": [3, 4]}, {"x": [2, 1], "y": [4, 3]}, True),
        ({"x": [1, 2], "y": [3, 4]}, {"x": [2, 1], "y": [3, 4]}, False),
        (([1, 2], [3, 4]), ([2, 1], [4, 3]), True),
        (5, 5, True),
        ([], [], False),
    ],
)
def test_an_edit_of_data_is_told_from_other_data(
    one: object, other: object, same: bool
) -> None:
    """Another order, a cell, a row make no new data; shared values alone do not."""
    assert alike(one, other) is alike(other, one) is same

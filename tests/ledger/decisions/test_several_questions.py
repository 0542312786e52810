"""Several questions are asked at once, before the run waits for the first of them."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from children import is_killed
from deciding import approver, key, signed
from muniment.errors import RefusedError, UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify

PAGES = ("start", "prices", "terms")


def publishes(run: Run, order: tuple[int, ...] = (0, 1, 2)) -> dict[str, str]:
    """Ask for each page, then wait for the answers in that *order*."""
    questions = [run.scope(page).ask({"page": page}, f"{page}?") for page in PAGES]
    found = {PAGES[one]: questions[one].decide().outcome for one in order}
    run.record("note.added", {"text": ", ".join(sorted(found))})
    return dict(sorted(found.items()))


def forgets(run: Run) -> str:
    """Ask, and wait for nothing."""
    run.ask("publish?")
    return "done"


def answer_some(ledger: Ledger, which: list[int], outcome: Any = "approved") -> None:
    """Answer the pending questions of these numbers."""
    mine = key("ann")
    waiting = ledger.pending()
    for one in {*which}:
        if one < len(waiting):
            ledger.answer(signed(waiting[one], mine, outcome))


def holds(ledger: Ledger, run: str, program: Any) -> None:
    """Check that the run replays, and the ledger verifies."""
    found = replay(ledger, run, program)
    assert found.verdict == "acceptable", found
    report = verify(ledger.path, home=ledger.home)
    assert report.ok, str(report)


def test_all_are_asked_before_the_run_waits(ledger: Ledger) -> None:
    """People find all of them at once, and one resume goes on with all the answers."""
    approver(ledger, "ann")
    done = ledger.execute(publishes)
    assert done.status == "paused"
    assert [one.prompt for one in ledger.pending()] == [f"{one}?" for one in PAGES]
    answer_some(ledger, [0, 1])
    answer_some(ledger, [0], "denied")
    resumed = ledger.resume(done.run_id, publishes)
    assert resumed.result == {
        "prices": "approved",
        "start": "approved",
        "terms": "denied",
    }
    holds(ledger, done.run_id, publishes)


def test_a_run_waits_for_what_it_did_not_wait_for(ledger: Ledger) -> None:
    """It pauses at its end, and completes once that is decided."""
    approver(ledger, "ann")
    done = ledger.execute(forgets)
    assert done.status == "paused"
    answer_some(ledger, [0])
    assert ledger.resume(done.run_id, forgets).result == "done"
    holds(ledger, done.run_id, forgets)


def test_what_fails_leaves_its_questions(ledger: Ledger) -> None:
    """A run that fails after it asked has failed; nobody is asked any more."""
    approver(ledger, "ann")

    def fails(run: Run) -> None:
        run.ask("publish?")
        raise ValueError("no paper")

    done = ledger.execute(fails)
    assert done.status == "failed"
    holds(ledger, done.run_id, fails)


def test_an_answer_is_told_twice_as_it_is(ledger: Ledger) -> None:
    """A question that was decided says the same again, and nothing more is recorded."""
    approver(ledger, "ann")

    def twice(run: Run) -> list[str]:
        question = run.ask("publish?")
        return [question.decide().outcome, question.decide().outcome]

    run = ledger.execute(twice).run_id
    answer_some(ledger, [0])
    assert ledger.resume(run, twice).result == ["approved", "approved"]
    assert len(list(ledger.events(run=run, type="decision.reached"))) == 1
    holds(ledger, run, twice)


@pytest.mark.parametrize("inside", ["ask", "decide"])
def test_a_performer_neither_asks_nor_waits(ledger: Ledger, inside: str) -> None:
    """Its effect would have no outcome."""
    approver(ledger, "ann")

    def wrong(run: Run) -> None:
        question = run.ask("first?")
        act = partial(run.ask, "second?") if inside == "ask" else question.decide
        run.effect("steps.done", {}, lambda _: act())

    ledger.register(EffectKind("steps.done"))
    done = ledger.execute(wrong)
    assert done.status == "failed"
    assert f"a performer cannot {inside}" in str(done.error)


def test_a_dry_run_ends_where_it_would_wait(ledger: Ledger) -> None:
    """It asks nobody, and says so."""
    done = ledger.execute(publishes, mode="dry")
    assert isinstance(done.error, RefusedError)
    assert done.error.rule == "run/dry-end"
    assert ledger.pending() == ()


def test_nobody_could_decide_it(ledger: Ledger) -> None:
    """What nobody could decide is refused where it is asked."""

    def wrong(run: Run) -> None:
        run.ask("publish?", quorum=0)

    error = ledger.execute(wrong).error
    assert isinstance(error, UsageError)
    assert error.rule == "decision/quorum"


@settings(max_examples=30, deadline=None)
@given(st.permutations([0, 1, 2]), st.lists(st.lists(st.integers(0, 2), max_size=2)))
def test_in_any_order(order: list[int], rounds: list[list[int]]) -> None:
    """Whoever answers when, and whatever is waited for first: each gets its own answer."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger.create(Path(folder, "ledger.db"), home=Path(folder, "home")) as ledger,
    ):
        approver(ledger, "ann")
        done = ledger.execute(publishes, params={"order": order})
        for which in [*rounds, [0], [0], [0]]:
            answer_some(ledger, which)
            if done.status == "paused":
                done = ledger.resume(done.run_id, publishes)
        assert done.result == dict.fromkeys(sorted(PAGES), "approved")
        holds(ledger, done.run_id, publishes)


def go_on(ledger: Ledger, run: str) -> Any:
    """Answer one, and resume, in turn until the run is complete."""
    answer_some(ledger, [0])
    done = ledger.resume(run, publishes)
    while done.status == "paused":
        answer_some(ledger, [0])
        done = ledger.resume(run, publishes)
    return done


@pytest.mark.slow
@pytest.mark.parametrize("step", ["inserted", "committed"])
@pytest.mark.parametrize("commit", range(1, 13))
def test_killed_while_people_decide(ledger: Ledger, step: str, commit: int) -> None:
    """Each was asked once, and decided once, wherever the process dies."""
    approver(ledger, "ann")

    def live(opened: Ledger) -> None:
        go_on(opened, opened.execute(publishes).run_id)

    is_killed(ledger.path, live, commit, step)
    run = str(next(ledger.events(type="run.started")).run)
    if next(ledger.events(run=run, type="run.completed"), None) is None:
        go_on(ledger, run)
    for kind in ("asked", "given", "reached"):
        found = list(ledger.events(type=f"decision.{kind}"))
        assert len(found) == len(PAGES), kind
    holds(ledger, run, publishes)

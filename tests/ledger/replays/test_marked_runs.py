"""A run that is marked non_certifiable is accepted by no replay, whoever marked it."""

from __future__ import annotations

import pytest

from muniment.ledger import Ledger
from muniment.replays.judge import Mode
from muniment.replays.replay import replay
from muniment.runs.run import Run

MODES: list[Mode] = ["strict", "bounded", "observational"]
REASON = "beyond its budget"


def marked(run: Run, mark: str = "non_certifiable") -> object:
    """Mark the run, and go on."""
    run.record("note.added", {"text": "begun"})
    run.mark(mark, REASON)
    return run.effect("data", 1, lambda asked: asked)


def otherwise(run: Run) -> object:
    """Do the same, and end in another way."""
    marked(run)
    return "another"


def calling(run: Run) -> object:
    """Call a run that is marked."""
    return run.call(marked)


@pytest.mark.parametrize("mode", MODES)
def test_the_mark_is_the_verdict(ledger: Ledger, mode: Mode) -> None:
    """Without any plugin, in every mode; and so it is recorded."""
    done = ledger.execute(marked)
    report = replay(ledger, done.run_id, marked, mode=mode, record=True)
    assert (report.verdict, report.exit_code) == ("non_certifiable", 1)
    assert report.findings == ()
    (judged,) = ledger.events(run=report.recorded_as, type="replay.judged")
    assert judged.raw["verdict"] == "non_certifiable"


@pytest.mark.parametrize("mode", MODES)
def test_a_replay_that_diverges_says_so(ledger: Ledger, mode: Mode) -> None:
    """What rejects is unacceptable; what is only reported leaves the mark."""
    done = ledger.execute(marked)
    report = replay(ledger, done.run_id, otherwise, mode=mode)
    rejected = mode != "observational"
    assert report.verdict == ("unacceptable" if rejected else "non_certifiable")
    assert (report.exit_code, bool(report.findings)) == (1, True)


def test_a_failed_run_that_is_marked(ledger: Ledger) -> None:
    """It fails in the same way, and is certified by nobody."""

    def failing(run: Run) -> object:
        marked(run)
        raise ValueError("no")

    done = ledger.execute(failing)
    assert replay(ledger, done.run_id, failing).verdict == "non_certifiable"


def test_another_mark_is_no_verdict(ledger: Ledger) -> None:
    """Whatever else somebody marks a run with is carried, and judges nothing."""
    done = ledger.execute(marked, params={"mark": "reviewed"})
    assert replay(ledger, done.run_id, marked).verdict == "acceptable"


def test_the_worst_counts(ledger: Ledger) -> None:
    """A parent is answered, and acceptable; with its child runs it is not."""
    done = ledger.execute(calling)
    assert replay(ledger, done.run_id, calling).verdict == "acceptable"
    deep = replay(ledger, done.run_id, calling, children=True)
    assert (deep.verdict, deep.exit_code, deep.children) == ("non_certifiable", 1, 1)

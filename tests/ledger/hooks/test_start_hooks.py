"""What plugins add to a run that starts, what they are told, and failures that stick."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from muniment import EffectFailed, Event, GateAnswer, Run, RunFacts, hookimpl
from muniment.errors import RefusedError, UsageError
from muniment.hookspecs import ReadableLedger
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.queries.run_summary import RunSummaries
from muniment.replays.replay import replay
from muniment.verification.verify import verify


class Watching:
    """Labels runs, states what it saw at their start, and remembers what was written."""

    def __init__(self, label: str = "blue") -> None:
        self.label = label
        self.started: list[tuple[RunFacts, int, int]] = []
        self.told: list[tuple[str, str | None]] = []

    @hookimpl
    def run_labels(self, run: RunFacts) -> Mapping[str, str]:
        """Add a label, except to a run that says not to."""
        if run.labels.get("labels") == "broken":
            raise OSError("no labels")
        if run.labels.get("labels") == "forgotten":
            return None  # type: ignore[return-value]  # what a careless hook does
        return {"shift": self.label}

    @hookimpl
    def at_start(
        self,
        run: Run,
        facts: RunFacts,
        events: tuple[Event, ...],
        ledger: ReadableLedger,
    ) -> None:
        """State how many events there were."""
        if facts.labels.get("start") == "broken":
            raise OSError("no start")
        before = sum(1 for _ in ledger.events(run=facts.id))
        self.started.append((facts, len(events), before))
        facts.memory.setdefault("runs", []).append(facts.id)  # type: ignore[attr-defined]
        run.record("note.added", {"text": f"after {len(events)} events"})

    @hookimpl
    def after_append(self, event: Event, facts: RunFacts | None) -> None:
        """Remember the run that wrote it."""
        self.told.append((event.type, None if facts is None else facts.id))


class Halting:
    """Fails every effect after the first, for good; or lets all happen."""

    def __init__(self, limit: int = 1) -> None:
        self.left = limit

    @hookimpl
    def before_effect(self) -> GateAnswer | None:
        """Count down."""
        self.left -= 1
        if self.left >= 0:
            return None
        error = EffectFailed("tool", "BudgetExhausted", "one is enough")
        return GateAnswer(error=error, halts=True)


def opened(tmp_path: Path, **plugins: object) -> Ledger:
    """Make a ledger with these plugins and no others."""
    return Ledger.create(tmp_path / "ledger.db", plugins=Plugins((), extra=plugins))


def calling(run: Run) -> object:
    """Ask twice, whatever comes of it."""
    got: list[object] = []
    for request in ("one", "two"):
        try:
            got.append(run.effect("tool", request, str))
        except EffectFailed as error:
            got.append(error.error_type)
    return got


def child(run: Run) -> str:
    """Be called."""
    return run.id


def parent(run: Run) -> object:
    """Call a run."""
    return run.call(child)


def test_a_run_has_the_labels_of_plugins(tmp_path: Path) -> None:
    """``run.started`` has a plugin's labels beside those given, in child runs, too."""
    with opened(tmp_path, watching=Watching()) as ledger:
        done = ledger.execute(parent, labels={"team": "search"})
        labels = {one.id: one.labels for one in ledger.runs()}
    assert labels == {
        done.run_id: {"shift": "blue", "team": "search"},
        str(done.value): {"shift": "blue"},
    }


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({"shift": "red"}, "the label shift is 'red' already"),
        ({"labels": "broken"}, "it failed with OSError: no labels"),
        ({"labels": "forgotten"}, "its labels are no mapping: NoneType"),
    ],
)
def test_a_label_that_cannot_be_added_refuses_the_run(
    tmp_path: Path, labels: dict[str, str], reason: str
) -> None:
    """Another value of the label, or a hook that fails, refuses; nothing is written."""
    with opened(tmp_path, watching=Watching()) as ledger:
        size = ledger.head.size
        with pytest.raises(RefusedError, match=reason):
            ledger.execute(child, labels=labels)
        assert ledger.head.size == size


def test_facts_at_the_start_are_durable_before_the_program_runs(tmp_path: Path) -> None:
    """A program finds what the plugin stated, also in a ``with`` run, and it verifies."""
    with opened(tmp_path, watching=Watching()) as ledger:

        def program(run: Run) -> list[str]:
            return [one.type for one in ledger.events(run=run.id)]

        assert ledger.execute(program).value == ["run.started", "note.added"]
        with ledger.run("block") as run:
            assert program(run) == ["run.started", "note.added"]
        assert verify(ledger.path, home=ledger.home).ok


def test_a_resume_tells_what_was_recorded_and_a_replay_asks_nobody(
    tmp_path: Path,
) -> None:
    """``at_start`` gets the events of a resumed run; a replay needs no plugin."""
    watching, halting = Watching(), Halting(0)
    with opened(tmp_path, watching=watching, halting=halting) as ledger:
        done = ledger.execute(calling)
        halting.left = 5
        again = ledger.resume(done.run_id, calling)
        assert (done.status, again.status) == ("failed", "completed")
        assert [(one.resumed, count) for one, count, _ in watching.started] == [
            (False, 0),
            (True, watching.started[1][2]),
        ]
        asked = len(watching.started)
        assert replay(ledger, done.run_id, calling).verdict == "acceptable"
        assert len(watching.started) == asked


def test_a_hook_that_fails_at_the_start_fails_the_run(tmp_path: Path) -> None:
    """The program is not called, and the run says why it failed."""
    with opened(tmp_path, watching=Watching()) as ledger:
        done = ledger.execute(parent, labels={"start": "broken"})
        assert (done.status, str(done.error)) == ("failed", "no start")
        with (
            pytest.raises(OSError, match="no start"),
            ledger.run("block", labels={"start": "broken"}),
        ):
            raise AssertionError("the body is not run")
        assert {one.status for one in ledger.runs()} == {"failed"}


def test_a_child_shares_the_memory_and_names_its_parents(tmp_path: Path) -> None:
    """Facts of a child name parent and root; what is remembered is remembered once."""
    watching = Watching()
    with opened(tmp_path, watching=watching) as ledger:
        done = ledger.execute(parent)
    (top, _, _), (below, _, _) = watching.started
    assert (top.parent, top.root) == (None, None)
    assert (below.parent, below.root) == (done.run_id, done.run_id)
    assert below.memory is top.memory
    assert top.memory == {"runs": [done.run_id, done.value]}


def test_a_fork_names_its_origin(tmp_path: Path) -> None:
    """Facts of a fork name the run that it follows, and its labels are the origin's."""
    watching = Watching()
    with opened(tmp_path, watching=watching) as ledger:
        done = ledger.execute(calling)
        last = [one.seq for one in ledger.events(run=done.run_id)][-1]
        ledger.fork(done.run_id, at=last, program=calling)
    assert [one.origin for one, _, _ in watching.started] == [None, done.run_id]


def test_observers_are_told_whose_event_it_is(tmp_path: Path) -> None:
    """``after_append`` gets the facts of the run that wrote, and None outside runs."""
    watching = Watching()
    with opened(tmp_path, watching=watching) as ledger:
        ledger.append("note.added", {"text": "outside"})
        done = ledger.execute(child)
    assert watching.told == [
        ("note.added", None),
        ("run.started", done.run_id),
        ("note.added", done.run_id),
        ("run.completed", done.run_id),
    ]


def test_a_halting_failure_ends_the_run_that_swallowed_it(tmp_path: Path) -> None:
    """The program returns, the run fails with the plugin's error, and replays to that.

    The replay needs no plugin, in this process and in that of the command line.
    """
    with opened(tmp_path, halting=Halting()) as ledger:
        done = ledger.execute(calling)
        assert done.status == "failed"
        assert str(done.error) == "tool (BudgetExhausted): one is enough [effect/tool]"
        (end,) = ledger.events(run=done.run_id, type="run.failed")
        assert end.raw["cause"] == [["", 2]]
    with Ledger.open(tmp_path / "ledger.db", plugins=()) as ledger:
        report = replay(ledger, done.run_id, calling)
        assert (report.verdict, report.result_digest) == (
            "acceptable",
            done.result_digest,
        )


def test_a_resume_of_a_halted_run_asks_again(tmp_path: Path) -> None:
    """The effect that the run failed by is asked about anew; then the run completes."""
    halting = Halting()
    with opened(tmp_path, halting=halting) as ledger:
        done = ledger.execute(calling)
        halting.left = 0
        assert ledger.resume(done.run_id, calling).status == "failed"
        halting.left = 1
        again = ledger.resume(done.run_id, calling)
        assert (again.status, again.value) == ("completed", ["one", "two"])
        assert replay(ledger, done.run_id, calling).verdict == "acceptable"


def test_a_mark_is_in_the_summary_and_replays(tmp_path: Path) -> None:
    """Marks are facts, each is listed once, and no other name or empty reason passes."""

    def marked(run: Run) -> None:
        run.mark("non_certifiable", "the budget is spent")
        run.scope("below").mark("non_certifiable", "again")
        for mark, reason in (("Bad mark", "why"), ("good", "")):
            with pytest.raises(UsageError, match="does not mark a run"):
                run.mark(mark, reason)

    with opened(tmp_path) as ledger:
        done = ledger.execute(marked)
        done.raise_failure()
        assert ledger.project(RunSummaries, run=done.run_id).marks == [
            "non_certifiable"
        ]
        assert replay(ledger, done.run_id, marked).verdict == "non_certifiable"
        assert verify(ledger.path, home=ledger.home).ok


def opening(run: Run) -> str:
    """Perform three effects by hand, whatever a plugin answered."""
    for number in range(3):
        effect = run.open("data", number)
        with suppress(UsageError):
            effect.complete(number)
    return "done"


def test_an_open_effect_is_no_way_around_a_halt(tmp_path: Path) -> None:
    """What a plugin failed for good cannot be completed, and the run fails with it."""
    with opened(tmp_path, halting=Halting()) as ledger:
        done = ledger.execute(opening)
        assert done.status == "failed"
        ends = [one.type for one in ledger.events(run=done.run_id)]
        assert ends == [
            "run.started",
            *("data.requested", "data.completed"),
            *("data.requested", "data.failed") * 2,
            "run.failed",
        ]
        assert replay(ledger, done.run_id, opening).ok
        assert verify(ledger.path, home=ledger.home).ok

"""What a fact is about, and its series, are part of what a program states.

Rules: programs state drawn facts, whose texts are often the same, of types that join series
or have public fields by themselves, or that a plugin declares. Another program states one of them about something
else, or in another series, and nothing else differs: then nobody accepts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muniment import BLOB, PUBLIC, VOLATILE, EventData, EventType, hookimpl, replay
from muniment.formats.statement import Data
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.diff import contrast
from muniment.replays.judge import Mode
from muniment.replays.replay import ReplayReport
from muniment.runs.run import Run
from steps import last_run

SWEEP = settings(
    max_examples=25, deadline=None, derandomize=True, phases=[Phase.generate]
)
DIGESTS = [f"sha256:{one * 64}" for one in "0a"]
ABOUT = st.lists(
    st.tuples(st.sampled_from(["n", "text"]), st.sampled_from(DIGESTS)), max_size=2
)
SERIES = st.sets(st.sampled_from(["k/0", "k/1", "thing/x"]), max_size=2).map(sorted)


class ThingSeen(EventData):
    """Public contents, and times that differ, beside what is compared."""

    text: str
    shown: Annotated[str, BLOB, PUBLIC] = "shown"
    took: Annotated[int, VOLATILE, PUBLIC] = 0


class OtherSeen(EventData):
    """What a plugin declares."""

    text: str


class _Other:
    @hookimpl
    def event_types(self) -> list[EventType]:
        return [EventType("other.seen", OtherSeen)]


def thing_series(data: Data) -> tuple[str, ...]:
    """Return the series of a thing."""
    return (f"thing/{data['text']}",)


@dataclass(frozen=True)
class Fact:
    """A fact of a program, in a scope."""

    kind: str
    scope: str
    text: str
    about: tuple[tuple[str, str], ...]
    series: tuple[str, ...]

    def state(self, run: Run, took: int) -> None:
        """State it; *took* differs from run to run."""
        lane = run.scope(self.scope) if self.scope else run
        data: dict[str, object] = {"text": self.text}
        if self.kind == "thing.seen":
            data["took"] = took
        lane.record(self.kind, data, subject=self.about, series=self.series)

    @property
    def place(self) -> tuple[str, str, str]:
        """What is equal for facts with equal data."""
        return self.kind, self.scope, self.text


FACT = st.builds(
    Fact,
    st.sampled_from(["note.added", "thing.seen", "other.seen"]),
    st.sampled_from(["", "a"]),
    st.sampled_from("xy"),
    ABOUT.map(tuple),
    SERIES.map(tuple),
)
FACTS = st.lists(FACT, min_size=1, max_size=4)


@dataclass
class Stating:
    """States *facts*, and asks one thing at the end; it may be cut there."""

    facts: Sequence[Fact]
    took: int = 0
    cut: bool = False
    __name__ = "stating"

    def __call__(self, run: Run) -> object:
        """State them."""
        for one in self.facts:
            one.state(run, self.took)
        return run.effect("data", 1, self._answer)

    def _answer(self, request: object) -> object:
        if self.cut:
            raise KeyboardInterrupt
        return request


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger that many drawn runs share."""
    place: Path = tmp_path_factory.mktemp("links") / "ledger.db"
    with Ledger.create(place, plugins=Plugins([], {"other": _Other()})) as made:
        made.register(EventType("thing.seen", ThingSeen, series=thing_series))
        yield made


def own(fact: Fact) -> set[str]:
    """Return the series that the type of *fact* joins by itself."""
    return {f"thing/{fact.text}"} if fact.kind == "thing.seen" else set()


def links(fact: Fact) -> tuple[list[tuple[str, str]], set[str]]:
    """Return what is compared of *fact* beside its data."""
    return sorted(fact.about), {*fact.series} - own(fact)


def relinked(facts: list[Fact], data: st.DataObject) -> tuple[list[Fact], str]:
    """Return *facts*, one of them with other links, and the field that is another."""
    at = data.draw(st.integers(0, len(facts) - 1))
    known = facts[at]
    if data.draw(st.booleans()):
        about = data.draw(
            ABOUT.map(tuple).filter(lambda one: sorted(one) != links(known)[0])
        )
        other, named = replace(known, about=about), "subject"
    else:
        series = SERIES.map(tuple).filter(
            lambda one: {*one} - own(known) != links(known)[1]
        )
        other, named = replace(known, series=data.draw(series)), "series"
    return [*facts[:at], other, *facts[at + 1 :]], named


def judged(
    ledger: Ledger, run: str, facts: list[Fact], mode: Mode = "strict"
) -> ReplayReport:
    """Replay *run* by a program that states *facts*, at another time."""
    return replay(ledger, run, Stating(facts, took=2), mode=mode)


def reordered(facts: list[Fact], others: list[Fact]) -> bool:
    """Tell whether *others* are the same facts, at most in another order."""

    def every(all_of: list[Fact]) -> list[str]:
        return sorted(
            repr((one.place, links(one)[0], sorted(links(one)[1]))) for one in all_of
        )

    return every(facts) == every(others)


@pytest.mark.slow
@SWEEP
@given(facts=FACTS, data=st.data())
def test_other_links_are_another_fact(
    things: Ledger, facts: list[Fact], data: st.DataObject
) -> None:
    """They are named: rejected by a strict replay, found by the others and by a contrast.

    The result digest, whose form is specified, stays what it was.
    """
    done = things.execute(Stating(facts))
    same = judged(things, done.run_id, facts)
    assert (same.verdict, same.result_digest) == ("acceptable", done.result_digest)
    others, named = relinked(facts, data)
    report = judged(things, done.run_id, others)
    assert report.verdict == "unacceptable"
    first = report.first_divergence
    assert first is not None
    assert (first.what, first.field) in {
        ("fact", "subject"),
        ("fact", "series"),
        ("fact", "text"),
        ("type", "type"),
    }
    if len(facts) == 1:
        assert (first.what, first.field) == ("fact", named)
    for mode in ("bounded", "observational"):
        loose = judged(things, done.run_id, others, mode)
        assert loose.verdict == "acceptable_with_warnings"
        assert any(one.what == "fact" for one in loose.findings)
        assert loose.result_digest == done.result_digest
    other = things.execute(Stating(others, took=1))
    assert other.result_digest == done.result_digest
    assert contrast(things, done.run_id, other.run_id).equal is False
    again = things.execute(Stating(facts, took=1))
    assert contrast(things, done.run_id, again.run_id).equal


@pytest.mark.slow
@SWEEP
@given(facts=FACTS, data=st.data())
def test_the_order_of_links_says_nothing(
    things: Ledger, facts: list[Fact], data: st.DataObject
) -> None:
    """Subjects and series may be given in any order; facts in another order are a warning."""
    turned = [
        replace(one, about=one.about[::-1], series=one.series[::-1]) for one in facts
    ]
    run = things.execute(Stating(facts)).run_id
    assert judged(things, run, turned).verdict == "acceptable"
    moved = data.draw(st.permutations(facts))
    assert reordered(facts, moved)
    assert judged(things, run, moved).verdict in (
        "acceptable",
        "acceptable_with_warnings",
    )


@pytest.mark.slow
@SWEEP
@given(facts=FACTS, data=st.data())
def test_a_resume_and_a_fork_follow_the_links(
    things: Ledger, facts: list[Fact], data: st.DataObject
) -> None:
    """A program with other links goes on with no run that another began."""
    with suppress(KeyboardInterrupt):
        things.execute(Stating(facts, cut=True))
    run = last_run(things)
    others, _ = relinked(facts, data)
    assert things.resume(run, Stating(others)).status == "diverged"
    done = things.resume(run, Stating(facts, took=1))
    assert done.status == "completed"
    asked = next(things.events(run=run, type="data.requested")).seq
    assert things.fork(run, at=asked, program=Stating(others)).status == "diverged"
    fork = things.fork(run, at=asked, program=Stating(facts, took=3))
    assert fork.status == "completed"
    assert judged(things, fork.run_id, facts).verdict == "acceptable"


@pytest.mark.parametrize("joins", [thing_series, None])
def test_a_type_may_join_other_series_than_it_did(
    tmp_path: Path, joins: Callable[[Data], tuple[str, ...]] | None
) -> None:
    """A record from before a type joined a series, or its field was public, is replayed."""

    class Plain(EventData):
        text: str
        shown: Annotated[str, BLOB] = "shown"
        took: Annotated[int, VOLATILE] = 0

    facts = [Fact("thing.seen", "", "x", (("n", DIGESTS[0]),), ("k/0",))]
    place = tmp_path / "ledger.db"
    with Ledger.create(place, plugins=()) as made:
        made.register(EventType("thing.seen", Plain))
        run = made.execute(Stating(facts)).run_id
    with Ledger.open(place, plugins=()) as later:
        later.register(EventType("thing.seen", ThingSeen, series=joins))
        assert judged(later, run, facts).verdict == "acceptable"
        other = [replace(facts[0], about=())]
        assert judged(later, run, other).verdict == "unacceptable"


def test_the_series_of_a_run_is_its_own(things: Ledger) -> None:
    """A fork, and another run, have their own: only its name is compared."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "x"}, series=[f"desk@{run.id}"])
        return run.effect("data", 1, lambda request: request)

    run, other = (things.execute(program).run_id for _ in range(2))
    assert contrast(things, run, other).equal
    asked = next(things.events(run=run, type="data.requested")).seq
    fork = things.fork(run, at=asked, program=program)
    assert fork.status == "completed"
    assert contrast(things, run, fork.run_id).equal
    for one in (run, fork.run_id):
        assert replay(things, one, program).verdict == "acceptable"

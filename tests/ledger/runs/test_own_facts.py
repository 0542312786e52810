"""A type of facts that is its declaration's own is stated by nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import muniment
from muniment import EventType, PlainData
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment.runs.run import Run, current_run

NAME = "acme.concluded"


class Concluded(PlainData):
    """What an engine concludes."""

    verdict: str


class Fact(dict[str, object]):
    """The engine's own data."""


class Twin(Fact):
    """Somebody else's, made from it."""


SAID = {"verdict": "good"}


def declared(*, own: bool) -> EventType:
    """Return the declaration of the type."""
    return EventType(NAME, Concluded, own=f"{__name__}:Fact" if own else None)


@pytest.fixture
def owned(ledger: Ledger) -> Ledger:
    """Give a ledger where the type has an owner."""
    ledger.register(declared(own=True))
    return ledger


def in_a_thread(run: Run) -> None:
    """State it in a thread of one's own; raise what that raised."""
    raised: list[BaseException] = []

    def state() -> None:
        try:
            run.record(NAME, SAID)
        except UsageError as error:
            raised.append(error)

    thread = threading.Thread(target=state)
    thread.start()
    thread.join()
    raise raised[0]


def performed(_: object) -> None:
    """State it while an effect is performed."""
    current_run().record(NAME, SAID)


def called(run: Run) -> None:
    """State it as a child run."""
    run.record(NAME, SAID)


WAYS: dict[str, Callable[[Run], object]] = {
    "a program": lambda run: run.record(NAME, SAID),
    "a scope": lambda run: run.scope("act.1").record(NAME, SAID),
    "a subclass": lambda run: run.record(NAME, Twin(SAID)),
    "a thread": in_a_thread,
    "a performer": lambda run: run.effect("tool", {}, performed),
    "a child": lambda run: run.call(called),
    "a series": lambda run: run.record(NAME, SAID, series=["acme/1"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_programs_are_refused(owned: Ledger, way: str) -> None:
    """Whoever else states it is refused with rule, place and remedy; nothing is written."""
    done = owned.execute(WAYS[way])
    with pytest.raises(muniment.MunimentError, match=NAME) as caught:
        done.raise_failure()
    assert not list(owned.events(type=NAME))
    if isinstance(caught.value, UsageError):
        assert caught.value.rule == "event/own"
        assert "scope" in caught.value.place
        assert "note.added" in caught.value.remedy


def test_outside_runs_it_is_refused(owned: Ledger) -> None:
    """So it is outside of runs, whole batches with it."""
    size = owned.head.size
    with pytest.raises(UsageError, match="event/own"):
        owned.append(NAME, SAID)
    with pytest.raises(UsageError, match="event/own"):
        owned.append_many([("note.added", {"text": "x"}), (NAME, SAID)])
    assert owned.head.size == size
    assert owned.append(NAME, Fact(SAID)).type == NAME


def test_the_owner_states_it(owned: Ledger) -> None:
    """The owner states it live, in a replay and in a fork; the data are equal."""

    def program(run: Run) -> int:
        run.record(NAME, Fact(SAID))
        return int(str(run.effect("data", 1, lambda _: 1)))

    done = owned.execute(program)
    (fact,) = owned.events(type=NAME)
    assert fact.raw == SAID
    assert muniment.replay(owned, done.run_id, program).verdict == "acceptable"
    fork = owned.fork(done.run_id, at=owned.head.size - 1, program=program)
    assert fork.result == 1
    assert len(list(owned.events(type=NAME))) == 2


def test_what_was_refused_is_refused_in_a_replay(owned: Ledger) -> None:
    """A program that goes on after the refusal goes the same way in its replay."""

    def program(run: Run) -> str:
        with suppress(UsageError):
            run.record(NAME, SAID)
            return "stated"
        return str(run.effect("data", 1, lambda _: "refused"))

    done = owned.execute(program)
    assert done.result == "refused"
    assert muniment.replay(owned, done.run_id, program).verdict == "acceptable"


def program_of_before(run: Run) -> str:
    """State it as one could before the type had an owner; be cut off once."""
    run.record(NAME, SAID)
    said = str(run.effect("data", 1, lambda _: "said"))
    with suppress(UsageError):
        run.scope("later").record(NAME, SAID)
    if not Path("again").exists():
        Path("again").touch()
        raise KeyboardInterrupt
    return said


def test_records_of_before(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an older record has is answered in replay and resume; nothing is added."""
    monkeypatch.chdir(tmp_path)
    ledger.register(declared(own=False))
    with suppress(KeyboardInterrupt):
        ledger.execute(program_of_before)
    (run,) = [one.id for one in ledger.runs()]
    place, before = ledger.path, len(list(ledger.events(type=NAME)))
    ledger.close()

    with Ledger.open(place, plugins=()) as later:
        later.register(declared(own=True))
        done = later.resume(run, program_of_before)
        assert (done.status, done.result) == ("completed", "said")
        assert len(list(later.events(type=NAME))) == before
        assert muniment.replay(later, run, program_of_before).verdict == "acceptable"


def test_an_owner_that_is_not_loaded(ledger: Ledger) -> None:
    """Where the owner's module is not loaded, nobody states it."""
    ledger.register(EventType("acme.gone", Concluded, own="acme.engine:Fact"))
    with pytest.raises(UsageError, match="stated by acme alone"):
        ledger.append("acme.gone", Fact(SAID))

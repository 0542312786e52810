"""What programs, hooks and faults may do to a run without harm to its record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from muniment import verify
from muniment.errors import (
    CannotTellError,
    EffectFailed,
    RefusedError,
    UsageError,
    ValueRefused,
)
from muniment.formats.statement import BlobRef, Event
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.trust.head_memory import HeadMemory

CLAIM: dict[str, object] = {"id": "c", "text": "t"}


def fine(ledger: Ledger) -> bool:
    """Close *ledger* and verify it."""
    ledger.close()
    return verify(ledger.path).ok


def test_a_fact_is_what_it_was_when_it_was_stated(ledger: Ledger) -> None:
    """What a program changes after it stated a fact does not change the fact."""

    def program(run: Run) -> int:
        steps: list[object] = []
        run.record("claim.stated", {**CLAIM, "acceptance": {"steps": steps}})
        steps.append(object())
        return 1

    done = ledger.execute(program)
    (event,) = ledger.events(type="claim.stated")
    assert event.data["acceptance"] == {"steps": []}
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_fact_that_never_fits_is_refused_at_once(ledger: Ledger) -> None:
    """A fact over 64 KiB is refused where it is stated; the run goes on and ends."""

    def program(run: Run) -> object:
        with pytest.raises(RefusedError, match=r"event/size"):
            run.record("spec.issued", {"allowed_imports": ["x" * 66_000]})
        run.record("claim.stated", CLAIM)
        return run.effect("tool", 1, lambda _: 2)

    done = ledger.execute(program)
    assert (done.status, done.value) == ("completed", 2)
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert fine(ledger)


class Mute(Exception):
    """Has no text, and an attribute that cannot be had."""

    def __str__(self) -> str:
        """Fail."""
        raise ValueError("no text")

    @property
    def data(self) -> object:
        """Fail."""
        raise ValueError("no data")


def ring() -> None:
    """Raise an exception that comes from itself."""
    error = KeyError("x")
    raise error from error


def mute() -> None:
    """Raise an exception that cannot say what it is."""
    raise Mute


@pytest.mark.timeout(120)
@pytest.mark.parametrize("deed", [ring, mute])
def test_odd_exceptions_end_effects_and_runs(
    ledger: Ledger, deed: Callable[[], None]
) -> None:
    """A ring of causes, or a text that cannot be had, is recorded and replays."""

    def inside(run: Run) -> str:
        try:
            run.effect("tool", 1, lambda _: deed())
        except EffectFailed as error:
            return error.message
        return ""

    def outside(_run: Run) -> None:
        deed()

    for program, status in ((inside, "completed"), (outside, "failed")):
        done = ledger.execute(program)
        assert done.status == status
        assert replay(ledger, done.run_id, program).verdict == "acceptable"


class Observer:
    """States a fact of the run whenever *kind* is seen."""

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self.run: Run | None = None

    def state(self, kind: str) -> None:
        """State it."""
        if self.run is not None and kind.startswith(self.kind):
            self.run.record("note.added", {"text": "seen"})


class After(Observer):
    """Sees what was written."""

    @hookimpl
    def after_append(self, event: Event) -> None:
        """State a fact of *event*."""
        self.state(event.type)


class Before(Observer):
    """Sees what is about to be written."""

    @hookimpl
    def before_append(self, event_type: str) -> None:
        """State a fact of it."""
        self.state(event_type)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    "plugin",
    [After("claim"), Before("run.completed"), After("")],
    ids=["after claims", "before the end", "after everything"],
)
def test_the_end_counts_what_hooks_state(
    tmp_path: Path, plugin: Observer, *, fails: bool
) -> None:
    """A run's end proves all of its events, those that hooks state of its end too."""
    with Ledger.create(tmp_path / "l.db", plugins=Plugins((), {"it": plugin})) as made:

        def program(run: Run) -> None:
            plugin.run = run
            run.record("claim.stated", CLAIM)
            if fails:
                raise ValueError

        done = made.execute(program)
        assert done.status == ("failed" if fails else "completed")
        plugin.run = None
        assert fine(made)


def test_a_fault_of_the_head_memory_repeats_no_event(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed is not written again when the trust home fails; it is said."""
    advance, broken = HeadMemory.advance, False

    def failing(memory: HeadMemory, size: int, leaf_hash: bytes) -> None:
        if broken:
            raise CannotTellError("no room", rule="head/unusable")
        advance(memory, size, leaf_hash)

    monkeypatch.setattr(HeadMemory, "advance", failing)

    def program(run: Run) -> None:
        nonlocal broken
        run.record("claim.stated", CLAIM)
        broken = True
        with pytest.raises(CannotTellError, match=r"head/unusable"):
            run.effect("tool", 1, lambda _: 2)
        broken = False

    done = ledger.execute(program)
    kinds = [event.type for event in ledger.events(run=done.run_id)]
    assert kinds == ["run.started", "claim.stated", "tool.requested", "run.completed"]
    assert fine(ledger)


def test_a_fault_of_the_head_memory_is_said_at_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no event follows, the close says that the head memory stayed behind."""
    made = Ledger.create(tmp_path / "l.db", plugins=())

    def failing(_memory: HeadMemory, _size: int, _hash: bytes) -> None:
        raise CannotTellError("no room", rule="head/unusable")

    monkeypatch.setattr(HeadMemory, "advance", failing)
    assert made.append("note.added", {"text": "x"}).seq == 1
    with pytest.raises(CannotTellError, match=r"head/unusable"):
        made.close()


@pytest.mark.slow
def test_a_run_of_many_scopes_can_end(ledger: Ledger) -> None:
    """Thousands of scopes, whose counts fit into no event, are proved by the root."""

    def program(run: Run) -> None:
        for number in range(4000):
            run.scope(f"map/{number}").record("claim.stated", CLAIM)

    done = ledger.execute(program)
    assert done.status == "completed"
    (end,) = ledger.events(type="run.completed")
    assert "counts" not in end.raw
    assert fine(ledger)


def test_scopes_have_no_dollar(ledger: Ledger) -> None:
    """A scope that counts could not name as it is called is refused."""

    def program(run: Run) -> None:
        run.scope("$x")

    assert isinstance(ledger.execute(program).error, UsageError)


def test_what_was_erased_can_be_stated_again(ledger: Ledger) -> None:
    """Content that a run states again after its erasure is kept, not lost."""

    def program(run: Run) -> object:
        note = {"text": "x", "details": "the same"}
        first = run.record("note.added", note).event.data["details"]
        assert isinstance(first, BlobRef)
        ledger.erase(first.digest, reason="asked to")
        return ledger.resolve(run.record("note.added", note).event)["details"]

    assert ledger.execute(program).result == "the same"
    assert fine(ledger)


@dataclass
class Ticket:
    """A registered class."""

    number: int


def test_registered_values_are_resolved(ledger: Ledger) -> None:
    """A short value of a registered class, which stands inline, comes back."""
    ledger.register(Ticket)
    data = {"hypothesis": "h", "verifier": "v", "result": Ticket(7)}
    event = ledger.append("verdict.reached", data)
    assert ledger.resolve(ledger.event(event.seq)) == data


def nested(depth: int) -> object:
    """Return lists in lists."""
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", range(56, 66))
def test_depth_is_refused_before_it_is_written(ledger: Ledger, depth: int) -> None:
    """What is too deep is refused, or else verifies and replays, inline or apart."""

    def program(run: Run) -> object:
        with suppress(ValueRefused):
            run.record("claim.stated", {**CLAIM, "acceptance": {"a": nested(depth)}})
        performed: list[object] = []
        try:
            run.effect("tool", nested(depth), performed.append)
        except ValueRefused:
            return bool(performed)
        return nested(depth)

    done = ledger.execute(program)
    assert done.value in (nested(depth), False)
    assert replay(ledger, done.run_id, program).result_digest == done.result_digest
    assert fine(ledger)


class Around:
    """A plugin that wraps the others' hooks."""

    @hookimpl(hookwrapper=True)
    def before_append(self) -> Iterator[None]:
        """Wrap it."""
        yield


def test_wrappers_are_refused_when_they_load(tmp_path: Path) -> None:
    """A hook that wraps others would never be asked as one: it does not load."""
    plugins = Plugins((), {"around": Around()})
    with (
        Ledger.create(tmp_path / "l.db", plugins=plugins) as made,
        pytest.raises(CannotTellError, match=r"before_append is a wrapper"),
    ):
        made.append("note.added", {"text": "x"})


@pytest.mark.parametrize("data", [None, [1], "x"])
def test_data_is_a_mapping(ledger: Ledger, data: object) -> None:
    """What is not a mapping is refused in words."""
    with pytest.raises(RefusedError, match=r"is a mapping, not a .* \[event/data\]"):
        ledger.append("note.added", data)  # type: ignore[arg-type]


def test_code_with_a_lone_surrogate_is_refused(ledger: Ledger) -> None:
    """Text that UTF-8 cannot carry is refused in plain fields as elsewhere."""
    with pytest.raises(RefusedError, match=r"value/surrogate"):
        ledger.append("synthesis.attempted", {"code": "\ud800", "accepted": True})

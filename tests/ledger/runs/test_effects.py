"""One door to the outside: durable before, durable after, answered by whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from muniment.errors import (
    EffectFailed,
    RefusedError,
    UsageError,
    ValueRefused,
)
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run, current_run
from steps import echo, last_event, raising, shapes_of

Program = Callable[..., Any]


def test_the_request_is_durable_before_and_the_outcome_after(ledger: Ledger) -> None:
    """The performer finds its request in the ledger, the program its outcome."""

    def perform(request: object) -> object:
        event = last_event(ledger, "tool.requested")
        assert ledger.resolve(event)["request"] == request
        assert not list(ledger.events(type="tool.completed"))
        return {"seen": event.seq}

    with ledger.run("r") as run:
        value = run.effect("tool", {"name": "x", "n": (1, 2.0)}, perform)
        outcome = last_event(ledger, "tool.completed")
        assert ledger.resolve(outcome)["value"] == value
    assert outcome.data["answered_by"] == {"who": "performer"}
    assert cast("int", outcome.data["duration_us"]) >= 0


def test_facts_become_durable_with_the_next_effect(ledger: Ledger) -> None:
    """A fact waits in the buffer; one commit carries it and the next request."""
    with ledger.run("r") as run:
        size = ledger.head.size
        handle = run.record("note.added", {"text": "a"})
        assert ledger.head.size == size
        run.effect("data", 1, lambda _: ledger.head.size)
        assert ledger.head.size == size + 3
        assert handle.event.seq == size
        other = run.record("note.added", {"text": "b"})
        assert other.event.seq == size + 3, "asking for the event writes it"


def test_an_outcome_has_its_requests_ordinal(ledger: Ledger) -> None:
    """One counter per scope runs over facts and requests."""
    with ledger.run("r") as run:
        run.record("note.added", {"text": "a"})
        run.effect("data", 1, echo)
        with run.scope("s") as lane:
            lane.effect("data", 1, echo)
        run.record("note.added", {"text": "b"})
    assert shapes_of(ledger, run.id) == [
        ("run.started", "", 0),
        ("note.added", "", 1),
        ("data.requested", "", 2),
        ("data.completed", "", 2),
        ("data.requested", "s", 0),
        ("data.completed", "s", 0),
        ("note.added", "", 3),
        ("run.completed", "", 4),
    ]


def test_the_performer_gets_and_gives_twins(ledger: Ledger) -> None:
    """Request and value are what the record gives back: equal, and shared with nobody."""
    asked: dict[str, Any] = {"z": 1, "a": [1.0]}
    given: list[Any] = [{"z": 1, "a": (1,)}]
    seen: list[Any] = []

    def perform(request: object) -> object:
        seen.append(request)
        return given

    with ledger.run("r") as run:
        value = run.effect("data", asked, perform)
    assert seen == [asked]
    assert seen[0] is not asked
    assert list(seen[0]) == ["a", "z"]
    assert value == given
    assert value is not given


class Word(str):
    """A text that no record gives back as such."""

    __slots__ = ()


@pytest.mark.parametrize(
    "given",
    [
        [1, 2, 3],
        [1, 2.5, "x", None, True],
        [1.0, 2.0],
        [2**60, -(2**53)],
        [float("nan"), -0.0],
        ["é", "\u2028"],
        [1e-7, 123456.789],
        [],
    ],
)
def test_a_list_comes_back_as_the_record_says(
    ledger: Ledger, given: list[object]
) -> None:
    """Whichever way it takes, the program sees what a replay will see, to the type."""

    def program(run: Run) -> list[object]:
        value: Any = run.effect("data", {}, lambda _: given)
        assert value is not given
        return [repr(item) for item in value]

    done = ledger.execute(program)
    assert done.result == [repr(item) for item in given]
    assert replay(ledger, done.run_id, program).findings == ()


def test_a_list_of_other_texts_is_refused(ledger: Ledger) -> None:
    """A subclass is not text that comes back."""
    with ledger.run("r") as run, pytest.raises(EffectFailed, match="Word"):
        run.effect("data", {}, lambda _: [Word("x")])


@pytest.mark.parametrize("again", [False, True])
def test_a_failure_is_equal_live_and_in_a_replay(
    ledger: Ledger, *, again: bool
) -> None:
    """Kind, type, message and data of a failure are what was recorded."""
    error = TimeoutError("no answer")
    error.data = {"after": (3, 1.0)}  # type: ignore[attr-defined]
    seen: list[EffectFailed] = []

    def program(run: Run) -> None:
        with pytest.raises(
            EffectFailed, match=r"tool \(TimeoutError\): no answer"
        ) as got:
            run.effect("tool", {"name": "x"}, raising(error))
        seen.append(got.value)

    done = ledger.execute(program)
    assert done.status == "completed"
    if again:
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
    for one in seen:
        assert (one.kind, one.error_type, one.message) == (
            "tool",
            "TimeoutError",
            "no answer",
        )
        assert one.data == {"after": {"$tuple": [3, {"$float": "1.0"}]}}
        assert one.effect == ("", 1)
    assert len(seen) == 1 + again


def test_an_unrecordable_outcome_is_a_failure(ledger: Ledger) -> None:
    """A value without exact form is not passed on; live and replay say the same."""

    def program(run: Run) -> object:
        with pytest.raises(EffectFailed, match="has no exact form") as got:
            run.effect("tool", None, lambda _: object())
        return got.value.error_type

    done = ledger.execute(program)
    assert done.result == "unrecordable"
    assert last_event(ledger, "tool.failed").data["reason"] == "unrecordable"
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_an_unrecordable_request_is_refused_before(ledger: Ledger) -> None:
    """Nothing is performed and nothing written for what cannot be written exactly."""
    with ledger.run("r") as run:
        size = ledger.head.size
        with pytest.raises(ValueRefused, match="has no exact form"):
            run.effect("tool", {"name": object()}, raising(AssertionError()))
        assert ledger.head.size == size


def test_a_failure_with_unrecordable_data_is_recorded_without(ledger: Ledger) -> None:
    """Type and message of a failure survive what it carries."""
    error = ValueError("bad \ud800 text")
    error.data = object()  # type: ignore[attr-defined]
    with ledger.run("r") as run, pytest.raises(EffectFailed, match=r"bad \\ud800 text"):
        run.effect("tool", None, raising(error))
    assert "data" not in last_event(ledger, "tool.failed").data


def test_models_of_a_kind(ledger: Ledger) -> None:
    """Requests are refused before, responses become failures."""
    ledger.register(
        EffectKind("count", request_model=dict[str, int], response_model=int)
    )
    with ledger.run("r") as run:
        with pytest.raises(RefusedError, match="valid integer"):
            run.effect("count", {"n": "x"}, echo)
        assert not list(ledger.events(type="count.requested"))
        with pytest.raises(EffectFailed, match="valid integer"):
            run.effect("count", {"n": 1}, lambda _: "many")
        assert run.effect("count", {"n": 1}, lambda _: 1) == 1
    assert last_event(ledger, "count.failed").data["reason"] == "refused"


def test_what_an_answer_of_a_model_tells_of_itself(ledger: Ledger) -> None:
    """Model, reason, tokens and cost stand inline; whatever else does not."""
    cost = {"usd": "0.0002", "table": "prices 1", "details": {"input": "0.0001"}}
    usage = {"input_tokens": 3, "details": {"cached_tokens": 1}}
    said = {"text": "hm", "model": "m", "finish_reason": "stop"}
    with ledger.run("r") as run:
        run.effect("llm", {}, lambda _: {**said, "usage": usage, "cost": cost})
        run.effect("llm", {}, lambda _: {"usage": 7, "cost": {1: 2}})
        run.effect("llm", {}, lambda _: "text")
    first, second, third = ledger.events(type="llm.completed")
    assert first.data["about"] == {
        "model": "m",
        "finish_reason": "stop",
        "usage": {"input_tokens": 3},
        "cost": {"usd": "0.0002", "table": "prices 1"},
    }
    assert (second.data.get("about"), third.data.get("about")) == ({"cost": {}}, None)


def test_a_broken_declaration_is_a_failure(ledger: Ledger) -> None:
    """What a kind's own code raises about a response does not lose the outcome."""
    broken = EffectKind(
        "broken", about_response=lambda value: {"n": 1 // cast("int", value)}
    )
    ledger.register(broken)
    with ledger.run("r") as run, pytest.raises(EffectFailed, match="ZeroDivisionError"):
        run.effect("broken", 1, lambda _: 0)
    assert last_event(ledger, "broken.failed").data["error_type"] == "ZeroDivisionError"


def test_an_unknown_kind_is_named(ledger: Ledger) -> None:
    """A kind that nobody declared is a mistake of the call, with the nearest name."""
    with ledger.run("r") as run, pytest.raises(UsageError, match="did you mean tool"):
        run.effect("tol", None, echo)


def test_idempotency_keys(ledger: Ledger) -> None:
    """Each effect has its own key, also two with equal requests."""
    keys: list[str] = []

    def perform(_: object) -> None:
        keys.append(current_run().idempotency_key)

    with ledger.run("r") as run:
        for kind, request in (("data", 1), ("data", 1), ("data", 2), ("tool", 1)):
            run.effect(kind, request, perform)
        with run.scope("s") as lane:
            lane.effect("data", 1, perform)
        with pytest.raises(UsageError, match="only the performer"):
            _ = run.idempotency_key
    with ledger.run("r") as run:
        run.effect("data", 1, perform)
    assert len(set(keys)) == len(keys) == 6


def test_attempts_share_their_key(ledger: Ledger) -> None:
    """A resume of a failed run performs the failure again, under the same key."""
    keys: list[str] = []
    broken = True

    def perform(request: object) -> object:
        keys.append(current_run().idempotency_key)
        if broken and request == "b":
            raise ConnectionError("down")
        return request

    def program(run: Run) -> object:
        return [run.effect("tool", name, perform) for name in "abc"]

    done = ledger.execute(program)
    assert done.status == "failed"
    assert ledger.resume(done.run_id, program).status == "failed"
    broken = False
    done = ledger.resume(done.run_id, program)
    assert done.result == ["a", "b", "c"]
    assert len(keys) == 5
    assert len(set(keys)) == 3
    attempts = [e.data["attempt"] for e in ledger.events(type="tool.requested")]
    assert attempts == [1, 1, 2, 3, 1]
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_handled_failure_stays_answered(ledger: Ledger) -> None:
    """Only the failure that ended the run is performed again, whatever came before."""
    performed: list[str] = []
    broken = True

    def perform(request: object) -> object:
        performed.append(str(request))
        if request == "a" or broken:
            raise ConnectionError(str(request))
        return request

    def program(run: Run) -> object:
        try:
            return run.effect("tool", "a", perform)
        except EffectFailed:
            return run.effect("tool", "b", perform)

    done = ledger.execute(program)
    broken = False
    assert ledger.resume(done.run_id, program).result == "b"
    assert performed == ["a", "b", "b"]


def test_a_failure_inside_a_perform_is_performed_again(ledger: Ledger) -> None:
    """An outer failure that came of an inner one does not come of it for ever."""
    broken = True

    def inner(request: object) -> object:
        if broken:
            raise ConnectionError("down")
        return request

    def outer(request: object) -> object:
        assert current_run().effect("data", "fine", echo) == "fine"
        return current_run().effect("tool", request, inner)

    def program(run: Run) -> object:
        return run.effect("llm", "q", outer)

    done = ledger.execute(program)
    assert done.status == "failed"
    cause = last_event(ledger, "run.failed").data["cause"]
    assert cause == [["", 1], ["@llm.1", 1]]
    broken = False
    assert ledger.resume(done.run_id, program).result == "q"
    assert len(list(ledger.events(type="data.requested"))) == 1

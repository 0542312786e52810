"""Where a program and the record of its run part is named, and cannot be swallowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muniment.errors import UsageError, WrongError
from muniment.ledger import Ledger
from muniment.recorded.divergence import Divergence
from muniment.replays.replay import ReplayReport, replay
from muniment.runs.execution import Done
from muniment.runs.run import Run
from steps import hits, original, search

Program = Callable[..., Any]


def _altered(**changes: Any) -> Program:
    """Return `original` with something else at one place; it performs nothing."""

    def altered(run: Run) -> object:
        claim = {"id": "c1", "text": "t", "acceptance": {"min": 15.0}}
        run.record("claim.stated", changes.get("claim", claim))
        if "extra" in changes:
            run.record("note.added", {"text": "extra"})
        first = search(run, changes.get("query", "a"))
        with run.scope(changes.get("scope", "map/3")) as lane:
            if "less" not in changes:
                lane.record("note.added", {"text": "inside"})
            second = search(lane, "b")
        result = [first, second, run.random(), run.uuid(), run.now()]
        return changes.get("result", result)

    return altered


def _found(
    ledger: Ledger, done: Done, **changes: Any
) -> tuple[ReplayReport, Divergence]:
    report = replay(ledger, done.run_id, _altered(**changes))
    assert report.verdict == "unacceptable"
    assert report.exit_code == 1
    assert report.first_divergence is not None
    return report, report.first_divergence


def test_another_fact_is_named(ledger: Ledger) -> None:
    """A fact that differs is named by its field, with what was and what is."""
    done = ledger.execute(original)
    claim = {"id": "c1", "text": "t", "acceptance": {"min": 16.0}}
    report, first = _found(ledger, done, claim=claim)
    assert (first.what, first.scope, first.field) == (
        "fact",
        "",
        "acceptance.min.$float",
    )
    assert (first.expected, first.got) == ("15.0", "16.0")
    assert first.seq == 2
    assert "acceptance.min.$float was '15.0', is '16.0'" in str(first)
    assert Divergence.from_json(first.to_json()) == first
    assert report.to_json()["first_divergence"] == first.to_json()


def test_another_request_is_named(ledger: Ledger) -> None:
    """An effect that asks for something else is named by the request's field."""
    done = ledger.execute(original)
    _, first = _found(ledger, done, query="z")
    assert (first.what, first.field) == ("effect", "request.query")
    assert (first.expected, first.got) == ("a", "z")


def test_another_result_is_named(ledger: Ledger) -> None:
    """A result that differs is named, with the end of the run as its place."""
    done = ledger.execute(original)
    _, first = _found(ledger, done, result=[1])
    assert (first.what, first.field) == ("result", "result[0]")
    assert first.got == 1
    assert first.seq == ledger.head.size - 1


def test_an_extra_fact_is_named(ledger: Ledger) -> None:
    """A fact that the record lacks, while another one was expected or none."""
    done = ledger.execute(original)
    _, first = _found(ledger, done, extra=True)
    assert (first.what, first.field, first.got) == ("type", "type", "note.added")
    assert first.expected == "clock.read"


def test_another_scope_is_extra(ledger: Ledger) -> None:
    """What is stated in a scope that the record has not is extra there."""
    done = ledger.execute(original)
    _, first = _found(ledger, done, scope="map/4")
    assert (first.what, first.scope) == ("extra", "map/4")
    assert (first.expected, first.got) == (None, "note.added")


def test_a_missing_fact_is_named(ledger: Ledger) -> None:
    """A fact that was not stated again is missing, although the result is equal."""
    done = ledger.execute(original)
    _, first = _found(ledger, done, less=True)
    assert (first.what, first.scope, first.expected) == (
        "missing",
        "map/3",
        "note.added",
    )


def test_a_missing_effect_is_named(ledger: Ledger) -> None:
    """An effect that was not asked for again is missing."""
    done = ledger.execute(lambda run: (search(run, "a", hits), 1)[1])
    report = replay(ledger, done.run_id, lambda _: 1)
    assert report.first_divergence is not None
    assert report.first_divergence.what == "missing"
    assert report.first_divergence.expected == "tool.requested"


def test_a_swallowed_divergence_is_found(ledger: Ledger) -> None:
    """A program cannot go on as if nothing had happened."""
    done = ledger.execute(original)
    tries: list[int] = []

    def program(run: Run) -> object:
        for number in range(3):
            try:
                return search(run, "other")
            except WrongError:
                tries.append(number)
        return done.result

    report = replay(ledger, done.run_id, program)
    assert report.verdict == "unacceptable"
    assert tries == [0, 1, 2]
    assert [one.what for one in report.findings] == ["missing", "effect"]
    assert report.result_digest is None


def test_another_order_of_facts_warns(ledger: Ledger) -> None:
    """Equal facts in another order are a finding of their own, which accepts."""
    notes = ("a", "b")

    def program(run: Run) -> None:
        for text in notes:
            run.record("note.added", {"text": text})

    done = ledger.execute(program)
    notes = ("b", "a")
    report = replay(ledger, done.run_id, program)
    assert report.verdict == "acceptable_with_warnings"
    assert [one.what for one in report.findings] == ["order"]
    assert report.first_divergence is None
    assert report.exit_code == 0


def test_the_modes(ledger: Ledger) -> None:
    """Bounded rejects other requests and results, not facts; an observer nothing."""
    done = ledger.execute(original)
    fact = _altered(claim={"id": "c1", "text": "other", "acceptance": {"min": 15.0}})
    other = _altered(result=0)
    lost = _altered(query="z")
    verdicts = {
        (mode, name): replay(ledger, done.run_id, program, mode=mode).verdict
        for mode in ("strict", "bounded", "observational")
        for name, program in (("fact", fact), ("result", other), ("effect", lost))
    }
    accepted = {key for key, verdict in verdicts.items() if verdict != "unacceptable"}
    assert accepted == {
        ("bounded", "fact"),
        ("observational", "fact"),
        ("observational", "result"),
        ("observational", "effect"),
    }
    assert "acceptable" not in verdicts.values()
    with pytest.raises(UsageError, match="'lax' is not a mode of replay"):
        replay(ledger, done.run_id, original, mode="lax")  # type: ignore[arg-type]

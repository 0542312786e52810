"""What a caller may say about an event: nothing that the verifier then calls wrong."""

from __future__ import annotations

import pytest

from muniment import verify
from muniment.errors import RefusedError, UsageError
from muniment.formats.statement import Subject
from muniment.ledger import Ledger
from muniment.runs.run import Run

DIGEST = "sha256:" + "a" * 64


def nothing(_run: Run) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    "subject",
    [
        ("f", "sha256:abcd"),
        ("f", "sha256:" + "A" * 64),
        ("f", "a" * 64),
        ("f", "sha256:" + "aa " * 32),
        ("data.json", DIGEST),
        ("f",),
        (None, DIGEST),
        Subject("f", "nonsense"),
        3,
    ],
)
def test_what_is_no_subject_is_refused(ledger: Ledger, subject: object) -> None:
    """A name and a whole digest, or nothing is written, in a run or outside of one."""
    with pytest.raises(RefusedError, match="event/subject"):
        ledger.append("note.added", {"text": "x"}, subject=[subject])  # type: ignore[list-item]

    def program(run: Run) -> None:
        run.record("note.added", {"text": "x"}, subject=[subject])  # type: ignore[list-item]

    assert isinstance(ledger.execute(program).error, RefusedError)
    assert not list(ledger.events(type="note.added"))
    assert verify(ledger.path).ok


def test_subjects_are_found_again(ledger: Ledger) -> None:
    """A pair is as good as a `Subject`; the same one twice is not an error."""
    event = ledger.append("note.added", {"text": "x"}, subject=[("f", DIGEST)] * 2)

    def program(run: Run) -> None:
        run.record("note.added", {"text": "y"}, subject=[("ü", DIGEST)])

    ledger.execute(program)
    assert event.subject == (Subject("f", DIGEST),) * 2
    assert [one.data["text"] for one in ledger.events(subject=DIGEST)] == ["x", "y"]
    assert verify(ledger.path).ok


def test_an_appended_event_is_the_event_that_is_read(ledger: Ledger) -> None:
    """What `append` returns equals what a query returns, its own subject included."""
    events = [
        ledger.append("note.added", {"text": "x"}),
        ledger.append("note.added", {"text": "x", "details": [1.0, (2,)]}),
        ledger.append("note.added", {"text": "x"}, subject=[("f", DIGEST)], actor="é"),
    ]
    assert events == list(ledger.events(type="note.added"))
    assert [one.subject[0].name for one in events] == ["data.json", "details", "f"]


@pytest.mark.parametrize("claim", ["\ud800", 3, "x" * 257, "é" * 129])
def test_what_is_no_claim_is_refused(ledger: Ledger, claim: str) -> None:
    """Actor and tenant are short texts."""
    with pytest.raises(RefusedError, match="event/claim"):
        ledger.append("note.added", {"text": "x"}, tenant=claim)
    with pytest.raises(RefusedError, match="event/claim"):
        ledger.append("note.added", {"text": "x"}, actor=claim)
    with pytest.raises(RefusedError, match="event/claim"):
        ledger.execute(nothing, tenant=claim)
    assert ledger.head.size == 1


def test_the_largest_part_of_what_is_too_large_is_named(ledger: Ledger) -> None:
    """Where it is the subjects that are too many, they are named."""
    many = [(f"file {number}", DIGEST) for number in range(1000)]
    with pytest.raises(RefusedError, match=r"note\.added subject: .*event/size"):
        ledger.append("note.added", {"text": "x"}, subject=many)


@pytest.mark.parametrize("name", ["", "a//b", "@x", "\ud800", "x" * 257, 3, None])
def test_what_is_no_scope_is_refused(ledger: Ledger, name: str) -> None:
    """The name of a scope is a short text; the run fails, and has an end."""

    def program(run: Run) -> None:
        run.scope(name).record("note.added", {"text": "x"})

    done = ledger.execute(program)
    assert isinstance(done.error, UsageError)
    assert (done.status, done.error.rule) == ("failed", "scope/name")


def test_a_run_is_live_or_dry(ledger: Ledger) -> None:
    """A mode that is none is refused, and nothing is recorded."""
    with pytest.raises(UsageError, match="not a mode of a run"):
        ledger.execute(nothing, mode="replay")  # type: ignore[arg-type]
    assert ledger.head.size == 1

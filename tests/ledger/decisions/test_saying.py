"""What `print` says of the answers that programs get."""

from __future__ import annotations

from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummary
from muniment.recorded.divergence import Divergence
from muniment.recorded.run_check import Checked
from muniment.replays.replay import ReplayReport
from muniment.runs.execution import Done
from muniment.verification.report import Finding, Report

RUN = "01JD3Z8M6Q7YB0000000000000"


def test_a_verdict_is_read_line_by_line() -> None:
    """The three answers, each on a line; then what was found, and what to do."""
    finding = Finding("edited", "event/subject", 2, "event 2", "not it", "compare")
    report = Report(
        ok=False,
        exit_code=1,
        integrity="wrong",
        authenticity="pinned",
        completeness="unchecked",
        findings=(finding,),
        notes=("a copy",),
        target="ledger.db",
        size=3,
        signatures_checked=3,
        erased=1,
        open_runs=(RUN,),
        anchored="not anchored",
    )
    assert str(report).splitlines() == [
        "ledger.db: 3 events, 3 signatures checked",
        "integrity: wrong",
        "authenticity: pinned",
        "completeness: unchecked; not anchored",
        "erased: 1 blobs, by events that say so",
        f"unfinished run: {RUN}",
        "note: a copy",
        "edited: event 2: not it [event/subject]; compare",
    ]


def test_a_hostile_file_cannot_move_the_cursor() -> None:
    """What a verdict quotes from a file is printable."""
    report = Report(
        ok=False,
        exit_code=3,
        integrity="cannot tell",
        authenticity="cannot tell",
        completeness="cannot tell",
        open_runs=("\x1b[2J\nintegrity: intact",),
    )
    assert "\\x1b[2J\\nintegrity: intact" in str(report)
    assert "\x1b" not in str(report)


def test_a_replay_says_its_verdict_and_each_difference() -> None:
    """One line for the run, one for what was compared, one for each finding."""
    found = Divergence("effect", "", 4, "request.prompt", "hey", "hey!")
    report = ReplayReport(
        RUN,
        "strict",
        "acceptable_with_warnings",
        1,
        ("sockets",),
        (found,),
        None,
        verified=Checked(5, 6, proven=True),
    )
    assert str(report).splitlines() == [
        f"run {RUN}: acceptable with warnings (strict)",
        "verified: 5 events, 6 signatures, root and counts",
        "compared: 1, watched for sockets",
        "effect at event 4: request.prompt was 'hey', is 'hey!'",
    ]


def test_a_run_says_how_it_ended() -> None:
    """One line, with what the program returned or raised."""
    done = Done(RUN, "completed", "sha256:00", value="HEY")
    assert str(done) == f"run {RUN}: completed, 'HEY'"
    failed = Done(RUN, "failed", "sha256:00", error=ValueError("no such tool"))
    assert str(failed) == f"run {RUN}: failed, ValueError: no such tool"
    facts = RunSummary(RUN, "prog", "open", "", None, 2, 2, 1, 0, "default", "local")
    assert str(facts) == f"run {RUN}: prog, open, 1 event"


def test_an_interactive_session_shows_what_is_asked(ledger: Ledger) -> None:
    """An event shows its type, its run and its data; a ledger, its file."""
    event = ledger.append("note.added", {"text": "hi"})
    assert repr(event) == "<Event 1 note.added: {'text': 'hi'}>"
    done = ledger.execute(lambda run: run.uuid(), name="p")
    started = next(ledger.events(run=done.run_id))
    assert repr(started).startswith(f"<Event 2 run.started in run {done.run_id}: {{")
    long = ledger.append("note.added", {"text": "x" * 4000})
    assert len(repr(long)) < 500
    assert repr(ledger) == f"<Ledger {str(ledger.path)!r}>"
    head = ledger.head
    assert repr(head) == f"<Head of {head.size} events: {head.hash.hex()}>"
    ledger.close()
    assert str(ledger.path) in repr(ledger)

"""What lanes and nodes keep private comes out nowhere: errors, questions, reasons, names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from discreet import TOLD, WORD, leaks, tools
from muniment import current_run, replay
from muniment.errors import EffectFailed, RunUnneeded
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.workflow import artifact, run_record, workflow_execute
from muniment_plugins.workflow.sessions import RunSession
from ways_out import asked_for
from workflow_stages import Document, chain

Shell = Any


def burst(given: object) -> object:
    """Raise it."""
    del given
    raise ValueError(WORD)


def fails_everywhere(run: Run) -> None:
    """Fail in a run of which all is private."""
    run.keep_private(everywhere=True)
    burst(run)


def fails_in_a_lane(run: Run) -> None:
    """Fail in a lane, by no effect."""
    with run.scope("a") as lane:
        lane.keep_private()
        burst(lane)


def fails_by_an_effect(run: Run) -> None:
    """Fail by an effect of a lane."""
    with run.scope("a") as lane:
        lane.keep_private()
        lane.effect("data", 1, burst)


def fails_by_a_copy(run: Run) -> None:
    """Raise another error that says what the private one says."""
    try:
        fails_by_an_effect(run)
    except EffectFailed as error:
        raise RuntimeError(f"it says {error.message}") from error


def fails_in_a_group(run: Run) -> None:
    """Raise a group, one error of which is private."""
    try:
        fails_in_a_lane(run)
    except ValueError as error:
        raise ExceptionGroup(f"first {error}", [error]) from None


def fails_below_a_performer(run: Run) -> None:
    """Fail in a lane within an effect that is not private itself."""

    def perform(_: object) -> None:
        fails_in_a_lane(current_run())

    run.effect("tool", "x", perform)


def caught_below_a_performer(run: Run) -> str:
    """Catch such a failure."""
    try:
        fails_below_a_performer(run)
    except EffectFailed as error:
        return error.error_type
    return ""


def fails_when_told(run: Run) -> None:
    """Fail by an effect after something private was told."""
    with RunSession.join(run, "other") as session:
        session.inject(TOLD)
        run.effect("tool", session.messages(), burst)


def raises_when_told(run: Run) -> None:
    """Raise what was told."""
    with RunSession.join(run, "other") as session:
        session.inject(TOLD)
        raise ValueError(str(session.messages()))


def asks_when_told(run: Run) -> str:
    """Ask people about what was told."""
    with RunSession.join(run, "other") as session:
        session.inject(TOLD)
        said = session.messages()[0]["content"]
        return run.decide({"told": said}, f"Is it {said}?").outcome


def asks(run: Run) -> str:
    """Ask people in a lane."""
    with run.scope("a") as lane:
        lane.keep_private()
        return lane.decide({"x": WORD}, f"Is it {WORD}?").outcome


def states(run: Run) -> int:
    """State a note, of which all words are private, and a mark, which is for everybody."""
    with run.scope("a") as lane:
        lane.keep_private()
        lane.record("note.added", {"text": WORD, "details": [WORD]})
        lane.mark("odd", "since it is")
    return 1


def pauses(run: Run) -> int:
    """Wait for a reason that is private."""
    with run.scope("a") as lane:
        lane.keep_private()
        lane.pause(f"till {WORD}")
    return 1


def drops(run: Run) -> None:
    """Say that nobody needs the run, for a reason that is private."""
    with run.scope("a") as lane:
        lane.keep_private()
        raise RunUnneeded(WORD)


def knows(run: Run) -> str:
    """Return it, from a run of which all is private."""
    run.keep_private(everywhere=True)
    return WORD


def calls(run: Run) -> int:
    """Call a run that is private, and take its result."""
    return len(str(run.call(knows)))


def calls_what_fails(run: Run) -> None:
    """Call a run that is private, and fails."""
    run.call(fails_everywhere)


def calls_a_lane_that_fails(run: Run) -> None:
    """Call a run a lane of which is private, and fails."""
    run.call(fails_in_a_lane)


def calls_what_pauses(run: Run) -> None:
    """Call a run that waits for a private reason."""
    run.call(pauses)


PROGRAMS: Mapping[Callable[[Run], object], str] = {
    fails_everywhere: "failed",
    fails_in_a_lane: "failed",
    fails_by_an_effect: "failed",
    fails_by_a_copy: "failed",
    fails_in_a_group: "failed",
    fails_below_a_performer: "failed",
    caught_below_a_performer: "completed",
    fails_when_told: "failed",
    raises_when_told: "failed",
    asks_when_told: "paused",
    asks: "paused",
    states: "completed",
    pauses: "paused",
    drops: "canceled",
    calls: "completed",
    calls_what_fails: "failed",
    calls_a_lane_that_fails: "failed",
    calls_what_pauses: "paused",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_private_lanes(
    desk: Ledger, shell: Shell, program: Callable[[Run], object]
) -> None:
    """Errors, questions, reasons and results of private lanes come out on demand only."""
    done = desk.execute(program)
    assert done.status == PROGRAMS[program], done
    if done.status in ("completed", "failed"):
        report = replay(desk, done.run_id, program=program)
        assert report.verdict == "acceptable", report
        assert WORD not in str(report.to_json())
    if done.status in ("paused", "failed"):
        again = desk.resume(done.run_id, program=program)
        goes_on = again.status == "completed"
        assert goes_on == (program in (pauses, calls_what_pauses)), again
    _comes_out_on_demand(desk, shell)


def _comes_out_on_demand(desk: Ledger, shell: Shell) -> None:
    every, asked = "", next(desk.events(type="decision.asked"), None)
    shown = [] if asked is None else ["inbox"]  # to those who decide
    for run in [one.id for one in desk.runs()]:
        assert leaks(shell, desk, run) == shown
        every += asked_for(shell, desk, run)
    assert WORD in every


def test_the_same_in_public(desk: Ledger, shell: Shell) -> None:
    """What nobody keeps private is shown as ever, with its short words inline."""

    def program(run: Run) -> None:
        run.record("note.added", {"text": "plain words"})
        run.mark("odd", "a plain reason")
        raise ValueError("a plain error")

    done = desk.execute(program)
    shown = shell("runs", "explain", done.run_id).out
    assert "a plain error" in shown
    assert "a plain reason" in shown
    (note,) = desk.events(run=done.run_id, type="note.added")
    assert note.raw == {"text": "plain words"}


@pytest.mark.parametrize("command", ["run", "resume"])
def test_the_command_line_says_no_private_error(
    desk: Ledger, shell: Shell, command: str
) -> None:
    """Whoever starts a run is told that it failed, and not what is private of it."""
    Path(f"{command}_it.py").write_text(
        "def fails(run):\n"
        "    with run.scope('a') as lane:\n"
        "        lane.keep_private()\n"
        f"        lane.effect('data', 1, lambda _: int('{WORD}'))\n"
    )
    desk.close()
    found = shell("run", f"{command}_it.py:fails")
    if command == "resume":
        run = shell("runs", "list", "--json").json[0]["id"]
        found = shell("resume", run)
    assert found.code == 1
    assert "(private)" in found.out + found.err
    assert WORD not in found.out + found.err


# -- nodes -----------------------------------------------------------------------------


def asking(run: Run, stage: Any) -> object:
    """Ask people."""
    del stage
    return run.decide({"x": WORD}, f"Is it {WORD}?").outcome


def publishing(run: Run, stage: Any) -> object:
    """Publish it, and state it."""
    stage.mail.publish_query("what", {"it": WORD})
    run.record("note.added", {"text": WORD})
    return "done"


def titled(given: object) -> object:
    """Make an artifact each text of which says it."""
    del given
    said = {"title": WORD, "source": WORD, "metadata": {"k": WORD}, "data": [WORD]}
    return artifact({"kind": "note", "text": WORD, **said})


def handler(name: str) -> Document:
    """Return a node that a function does."""
    hidden = {"output_visibility": "private"}
    return {"kind": "stage", "handler": f"{__name__}:{name}", **hidden}


def model(name: str, **more: Any) -> Document:
    """Return a node that a model does."""
    policy = {"model": f"test:{name}", **more.pop("policy", {})}
    return {"kind": "stage", "mode": "agent", "model_policy": policy, **more}


HIDDEN = {"output_visibility": "private"}
NUMBERS = {"type": "object", "additionalProperties": {"type": "integer"}}
TOLD_IN_DESK = {"session_id": "desk"}
GRAPHS: Mapping[str, Document] = {
    "asks": chain(act=handler("asking")),
    "publishes": chain(act=handler("publishing")),
    "titled": chain(act=handler("titled")),
    "is corrected": chain(
        act=model("odd", output_contract={"schema": NUMBERS}, **HIDDEN)
    ),
    "is denied": chain(act=model("mistaken", tools=tools(), **HIDDEN)),
    "a session that fails": chain(act=model("burst", policy=TOLD_IN_DESK)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_private_nodes(desk: Ledger, shell: Shell, name: str) -> None:
    """Names, places, reasons and failures of private nodes come out on demand only."""
    done = workflow_execute(desk, "t", GRAPHS[name])
    wanted = (
        "paused" if name == "asks" else "failed" if "fails" in name else "completed"
    )
    assert done.status == wanted, done.error
    _comes_out_on_demand(desk, shell)
    if done.status != "paused":
        assert replay(desk, done.run_id).verdict == "acceptable"


def test_the_record_has_a_private_failure_on_demand(desk: Ledger, shell: Shell) -> None:
    """Where private parts are asked for, a record says why a private node failed."""
    done = workflow_execute(desk, "t", chain(act=handler("burst")))
    assert WORD not in str(run_record(desk, done.run_id))
    record = run_record(desk, done.run_id, private=True)
    assert WORD in record["stages"][0]["error"]
    shown = shell("runs", "show", done.run_id, "--private", "--json").json
    assert WORD in json.dumps(shown["record"])
    assert "what it says is private" in shell("runs", "explain", done.run_id).out


def test_what_is_published_privately_is_asked_for_by_its_event(
    desk: Ledger, shell: Shell
) -> None:
    """A query for what a private node published is refused, and says where it is."""
    done = workflow_execute(desk, "t", chain(act=handler("publishing")))
    refused = shell("workflow", "query", done.run_id, "what")
    assert refused.code == 4
    assert WORD not in refused.out + refused.err
    (event,) = desk.events(run=done.run_id, type="query.published")
    assert f"muniment events show {event.seq} --private" in refused.err
    assert WORD in shell("events", "show", event.seq, "--private").out


def test_a_page_that_carries_evidence_says_that_private_parts_are_in_it(
    desk: Ledger, shell: Shell
) -> None:
    """Evidence is whole, and whoever hands the page out is told so; nobody else is."""
    run = desk.execute(states).run_id
    told = shell("report", run, "-o", "a.html", "--evidence")
    assert "2 private contents of the run can be read out of it" in told.err
    assert WORD not in Path("a.html").read_text()
    assert "private" not in shell("report", run, "-o", "b.html").err
    plain = desk.execute(lambda run: run.effect("tool", "x", str)).run_id
    assert "private" not in shell("report", plain, "-o", "c.html", "--evidence").err

"""What is private comes out nowhere unless it is asked for, and there where it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from discreet import TOLD, WORD, leaks, tools
from muniment import replay
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.providers import complete
from muniment_plugins.workflow import (
    agent_loop,
    workflow_execute,
)
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_compact,
    agent_session_inject,
)
from ways_out import asked_for
from workflow_stages import Document, chain

Shell = Any
LONG = {"role": "user", "content": "word " * 900}


def by_completion(run: Run) -> object:
    """Ask a model with the messages of the session, after the session, too."""
    with RunSession.join(run, "desk") as session:
        complete(run, "test:a", session.messages())
        said = session.messages()
    return len(complete(run, "test:a", said).text)


def by_injection(run: Run) -> object:
    """Say something private in a run, and pass it on."""
    with RunSession.join(run, "other") as session:
        session.inject(TOLD)
        found = run.effect("tool", {"asked": session.messages()}, lambda _: WORD)
    return len(str(found))


def by_loop(run: Run) -> object:
    """Let a loop converse in the session."""
    with RunSession.join(run, "desk") as session:
        done = agent_loop(run, "And?", model="test:a", tools=tools(), session=session)
    return done.reason


def by_prompt(run: Run) -> object:
    """Let a loop begin with a private message, in a session of its own."""
    policy = {"enabled": True, "token_threshold": 10, "keep_last": 1}
    done = agent_loop(
        run, [TOLD, LONG, LONG], model="test:a", tools=tools(), auto_compact=policy
    )
    return done.reason


def by_summary(run: Run) -> object:
    """Let a model summarise it."""
    with RunSession.join(run, "desk") as session:
        session.inject(LONG)
        session.inject({"role": "user", "content": "on"})
        policy = {
            "compact_strategy": "llm",
            "summarize_model": "test:a",
            "keep_last": 1,
        }
        return session.compact(policy)


def calling(run: Run) -> object:
    """Call another run after a private message was read."""
    with RunSession.join(run, "desk") as session:
        given = {"told": session.messages()[0]["content"]}
        return len(str(run.call(passed_on, given, "inner")))


def passed_on(run: Run, told: str) -> object:
    """Do something with what is told."""
    run.effect("tool", {"told": told}, lambda _: told)
    return told


PROGRAMS = (by_completion, by_injection, by_loop, by_prompt, by_summary, calling)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_private_message_in_a_program(
    desk: Ledger, shell: Shell, program: Callable[[Run], object]
) -> None:
    """Whatever a program does with a private message, no way out has it but on demand."""
    done = desk.execute(program)
    assert done.error is None
    runs = [one.id for one in desk.runs()]
    assert done.run_id in runs
    for run in runs:
        name = f"desk@{run}" if program is not by_injection else "other"
        exists = [one for one in ("desk", name) if program is not calling]
        sessions = tuple(exists) if program is not by_prompt else ("desk",)
        assert not leaks(shell, desk, run, sessions)
        assert WORD in asked_for(shell, desk, run, sessions)
    report = replay(desk, done.run_id, program=program)
    assert report.verdict == "acceptable", report


def node(**more: Any) -> Document:
    """Return a node that asks a model."""
    policy = {"model": "test:a", **more.pop("policy", {})}
    return {"kind": "stage", "mode": "llm", "model_policy": policy, **more}


def agent(**more: Any) -> Document:
    """Return a node that loops."""
    return {**node(**more), "mode": "agent", "tools": tools()}


IN_DESK = {"session_id": "desk"}
KNOWS = {"model": "test:secret"}
HIDDEN = {"output_visibility": "private"}
GRAPHS: Mapping[str, Document] = {
    "llm in the session": chain(act=node(policy=IN_DESK)),
    "agent in the session": chain(act=agent(policy=IN_DESK)),
    "a private llm": chain(act=node(policy=KNOWS, **HIDDEN), after=node()),
    "a private agent": chain(act=agent(policy=KNOWS, **HIDDEN), after=node()),
    "a private agent in a session": chain(
        act=agent(policy={**KNOWS, "session_id": "new"}, **HIDDEN), after=node()
    ),
    "a private agent that fails": chain(
        act=agent(policy={**KNOWS, "max_iterations": 1}, **HIDDEN)
    ),
    "a private node of a called graph": chain(
        act={
            "kind": "subagent",
            "graph": chain(inner=node(policy=KNOWS, **HIDDEN), next=node()),
        },
        after=node(),
    ),
    "a private body of a map": chain(
        act={
            "kind": "map",
            "map_policy": {"items": ["a", "b"]},
            "body": node(policy=KNOWS, **HIDDEN),
        },
        after=node(),
    ),
    "a private body that loops": chain(
        act={
            "kind": "map",
            "map_policy": {"items": ["a", "b"]},
            "body": agent(policy=KNOWS, **HIDDEN),
        },
        after=node(),
    ),
    "a private handler": chain(
        act={"kind": "stage", "handler": f"{__name__}:revealed", **HIDDEN}, after=node()
    ),
    "a private handler that fails": chain(
        act={"kind": "stage", "handler": f"{__name__}:burst", **HIDDEN}
    ),
    "a private verifier": chain(
        act=node(),
        judge={
            **node(policy=KNOWS, **HIDDEN),
            "kind": "verify",
            "verify": {"rubric": "Is it?"},
        },
    ),
}


def revealed(given: object) -> str:
    """Return it."""
    del given
    return WORD


def burst(given: object) -> str:
    """Raise it."""
    del given
    raise ValueError(WORD)


def spoken_by(script: list[Any], tmp: str = "told.json") -> str:
    """Return a model that follows *script*, turn by turn."""
    Path(tmp).write_text(json.dumps(script))
    return f"scripted:{tmp}"


def called(**arguments: str) -> Document:
    """Return a call of the tool that looks."""
    return {"id": f"c{len(arguments)}", "name": "look", "arguments": arguments}


ODD_CALLS = [
    {**called(what=WORD), "id": "found"},
    {**called(what="fail"), "id": "raised"},
    {**called(**{WORD: "x"}), "id": "denied"},
]
SCHEMA = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
SHORT = {"enabled": True, "token_threshold": 10, "keep_last": 1}
TALKS: Mapping[str, tuple[str, list[Any], Document]] = {
    "answers, results, errors, denials": (
        "x",
        [{"text": WORD, "tool_calls": ODD_CALLS}, WORD],
        {},
    ),
    "a repair": ("x", [f'{{"{WORD}": 1}}', '{"a": 1}'], {"schema": SCHEMA}),
    "a nudge": (
        "x",
        ["Well.", "DONE"],
        {"options": {"done_sentinel": "DONE", "nudge": f"Go on, {WORD}."}},
    ),
    "a call that is left open": (
        "x",
        [{"text": "", "tool_calls": ODD_CALLS[:1]}],
        {"options": {"max_tool_calls": 0}},
    ),
    "prompts": (WORD, ["Well."], {"system": WORD}),
    "a summary": ("word " * 900, ["Well."], {"auto_compact": SHORT}),
}


@pytest.mark.parametrize("name", TALKS)
def test_what_a_loop_adds(desk: Ledger, shell: Shell, name: str) -> None:
    """Each message that a loop adds after a private one comes out on demand only."""
    prompt, script, more = TALKS[name]
    model = spoken_by(script)

    def program(run: Run) -> str:
        with RunSession.join(run, "desk") as session:
            return agent_loop(
                run, prompt, model=model, tools=tools(), session=session, **more
            ).reason

    done = desk.execute(program)
    assert done.error is None
    sessions = ("desk", f"desk@{done.run_id}")
    assert not leaks(shell, desk, done.run_id, sessions)
    assert WORD in asked_for(shell, desk, done.run_id, sessions)
    every = list(desk.events(run=done.run_id, type="session.message_appended"))
    every += desk.events(run=done.run_id, type="session.compacted")
    assert {one.raw["visibility"] for one in every} == {"private"}
    assert replay(desk, done.run_id, program=program).verdict == "acceptable"


def test_what_a_node_adds(desk: Ledger, shell: Shell) -> None:
    """So do the messages of a node in a graph, but for what it makes: that is an artifact."""
    script = [{"text": WORD, "tool_calls": ODD_CALLS}, "Well."]
    policy = {"model": spoken_by(script), "session_id": "desk"}
    done = workflow_execute(desk, "t", chain(act={**agent(), "model_policy": policy}))
    assert done.error is None
    assert not leaks(shell, desk, done.run_id, ("desk", f"desk@{done.run_id}"))
    assert replay(desk, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("name", GRAPHS)
def test_private_nodes_and_sessions(desk: Ledger, shell: Shell, name: str) -> None:
    """What a private node makes, or a private session says, comes out on demand only."""
    done = workflow_execute(desk, "t", GRAPHS[name])
    fails = "fails" in name or "verifier" in name
    assert (done.error is not None) == fails, done.error
    assert WORD not in str(done.error)
    assert WORD not in str(done.artifacts)
    every = ""
    for run in [one.id for one in desk.runs()]:
        assert not leaks(shell, desk, run)
        every += asked_for(shell, desk, run)
    assert WORD in every
    assert replay(desk, done.run_id).verdict == "acceptable"


def test_after_a_node_that_is_public(desk: Ledger, shell: Shell) -> None:
    """What other nodes do is shown as ever: only what was told something private is not."""
    done = workflow_execute(
        desk, "the plain task", chain(act=node(policy=IN_DESK), after=node())
    )
    assert done.error is None
    shown = shell("runs", "show", done.run_id, "--full").out
    assert "the plain task" in shown
    requests = [
        (one.scope, one.raw.get("visibility"))
        for one in desk.events(run=done.run_id, type="llm.requested")
    ]
    assert requests == [("act.1", "private"), ("after.1", None)]


def test_forks_and_resumes(desk: Ledger, shell: Shell) -> None:
    """A fork says of what it copies that it is private, as its origin does."""
    origin = desk.execute(by_loop)
    last = list(desk.events(run=origin.run_id))[-2]
    fork = desk.fork(origin.run_id, at=last.seq, program=by_loop)
    assert fork.error is None
    assert not leaks(shell, desk, fork.run_id)
    told = shell("runs", "diff", origin.run_id, fork.run_id, "--json")
    assert WORD not in told.out + told.err


def test_a_summary_outside_of_runs(desk: Ledger, shell: Shell) -> None:
    """The run that a compaction is done in keeps private what it asks."""
    agent_session_inject(desk, "desk", LONG)
    agent_session_inject(desk, "desk", {"role": "user", "content": "on"})
    policy = {"compact_strategy": "llm", "summarize_model": "test:a", "keep_last": 1}
    assert agent_session_compact(desk, "desk", policy) == 2
    (run,) = [one.id for one in desk.runs()]
    assert not leaks(shell, desk, run)


def test_what_differs(desk: Ledger, shell: Shell) -> None:
    """Where a replay, or another run, differs in something private, the place is named."""
    told = [TOLD]

    def asks(run: Run) -> object:
        with RunSession.join(run, "new") as session:
            session.inject(told[-1])
            return len(complete(run, "test:a", session.messages()).text)

    first = desk.execute(asks)
    told.append({**TOLD, "content": f"It is not {WORD}."})
    report = replay(desk, first.run_id, program=asks)
    assert report.verdict == "unacceptable"
    assert WORD not in str(report) + str(report.to_json())
    assert "(private)" in str(report)
    second = desk.execute(asks)
    found = shell("runs", "diff", first.run_id, second.run_id, "--json")
    assert "llm" in str(found.json["differences"]) or found.json["differences"]
    assert WORD not in found.out + found.err


def test_no_pattern_discloses_what_is_private(
    desk: Ledger, shell: Shell, work: Path
) -> None:
    """Private contents that patterns name are counted; a pattern of them alone is refused."""
    act = {"kind": "stage", "handler": f"{__name__}:revealed", **HIDDEN}
    done = workflow_execute(desk, "t", chain(act=act))
    bundle = ("bundle", done.run_id, "--redact", "--disclose")
    refused = shell(*bundle, "artifact.recorded/text", "-o", work / "a")
    assert refused.code == 2
    assert "all that it names is private" in refused.err
    assert not (work / "a").exists()
    most = (*bundle, "*", "--disclose", "*/*")
    told = shell(*most, "-o", work / "b", "--json").json
    assert 0 < told["private_blobs"] <= told["withheld_blobs"]
    assert "--disclose names, and that stay withheld" in shell(*most, "-o", "c").out

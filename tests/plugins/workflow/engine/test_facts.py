"""Facts about runs of graphs that users rely on, by their names in `facts.toml`."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from attacking import tampering
from muniment import Run, replay, verify
from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    StageCall,
    StageInput,
    recorded_artifacts,
    run_record,
    workflow_execute,
    workflow_graph,
    workflow_validate,
)
from muniment_plugins.workflow.api import ready_workflow
from run_records import TAMPERED
from seen_stages import SEEN, Answers, asking, finished, seeing, sees, text
from workflow_stages import Document, chain, edge, graph_of, stage

READ: Document = {"side_effect_level": "read_only"}


def never(given: StageInput) -> str:
    """Fail the test, where nothing may be performed."""
    raise AssertionError(given)


def test_a_stage_by_a_model(desk: Ledger, answers: Answers) -> None:
    """A graph of one stage that a model works on; what it said is in the record."""
    done = finished(desk, chain(act=asking(prompt="Be brief.")), text(1, "old"))

    assert done.artifacts[-1].text == "PASS: it is polite"
    (asked,) = answers.asked
    assert "Be brief." in asked["prompt"]
    assert "old" in asked["prompt"]
    (row,) = run_record(desk, done.run_id)["stages"]
    assert (row["status"], row["visible_text"]) == ("completed", "PASS: it is polite")


def test_a_replay_touches_no_provider(desk: Ledger, answers: Answers) -> None:
    """A replay asks nobody: sockets, processes and files are guarded, calls are not made."""
    check = {"kind": "verify", "verify": {"command": "touch once && test -f once"}}
    done = finished(desk, chain(act=asking(prompt="x"), verify=check))
    Path("once").unlink()

    report = replay(desk, done.run_id)
    assert report.verdict == "acceptable"
    assert set(report.guards) >= {"sockets", "subprocesses"}
    assert (len(answers.asked), Path("once").exists()) == (1, False)
    assert report.result_digest == done.result_digest


def test_a_judge_by_a_model(desk: Ledger, answers: Answers) -> None:
    """A verifier with a mode asks its model by the rubric."""
    check = asking(kind="verify", verify={"rubric": "Is it polite?"})

    done = finished(desk, chain(act=stage(), verify=check))
    (asked,) = answers.asked
    assert "Is it polite?" in str(asked)
    (said,) = desk.events(run=done.run_id, type="verification.concluded")
    assert said.data["verdict"] == "verified"

    answers.says = "FAIL: it is not"
    failed = workflow_execute(desk, "t", chain(act=stage(), verify=check))
    assert failed.status == "failed"
    assert len(answers.asked) == 2


def test_a_graph_of_all_gates(desk: Ledger) -> None:
    """Condition, fork, map, join and reduce: stages, transitions, in exactly this order."""
    many = {"kind": "map", "map_policy": {"item_artifact_kind": "fixture"}}
    graph = graph_of(
        {
            "if": {"kind": "condition", "metadata": {"artifact_kind": "fixture"}},
            "fork": {"kind": "fork"},
            "left": many,
            "right": stage(),
            "join": {"kind": "join"},
            "sum": {"kind": "reduce", "input_contract": {"input_kinds": ["artifact"]}},
        },
        edge("if", "fork", "true"),
        edge("if", "sum", "false"),
        edge("fork", "left"),
        edge("fork", "right"),
        edge("left", "join"),
        edge("right", "join"),
        edge("join", "sum"),
    )
    done = finished(desk, graph, {**text(1, "given"), "kind": "fixture"}, executor=None)

    ended = [
        (str(one.data["node"]), str(one.data["branch"]))
        for one in desk.events(run=done.run_id, type="node.completed")
    ]
    assert ended[:2] == [("if", "true"), ("fork", "fork")]
    assert sorted(ended[2:4]) == [("left", "mapped"), ("right", "success")]
    assert ended[4:] == [("join", "join"), ("sum", "reduced")]
    moves = run_record(desk, done.run_id)["transitions"]
    ways = [(one.get("from_node_id"), one["to_node_id"]) for one in moves]
    assert ways[0] == ("if", "fork")
    assert sorted(ways[1:]) == [
        ("fork", "left"),
        ("fork", "right"),
        ("join", "sum"),
        ("left", "join"),
        ("right", "join"),
    ]
    assert done.artifacts[0].kind == "fixture"
    assert done.artifacts[-1].text == "given\n\nright: 1"


@pytest.mark.parametrize(
    ("join", "made"),
    [
        ({"strategy": "all"}, 3),
        ({"strategy": "first"}, 1),
        ({"strategy": "quorum", "min_completed": 2}, 2),
    ],
)
@pytest.mark.parametrize("at_once", [1, 2])
def test_map_strategies(desk: Ledger, join: Document, made: int, at_once: int) -> None:
    """Of three items, all, the first, or a quorum make artifacts; no more than run."""
    policy = {"items": ["a", "b", "c"], "max_concurrent": at_once}
    many = {**stage(), "kind": "map", "map_policy": policy, "join_policy": join}
    done = finished(desk, chain(many=many))

    assert made <= len(done.artifacts) <= made + at_once - 1


def test_b8_codes(desk: Ledger) -> None:
    """B8: an unknown kind, an unknown key and a dead label are errors with codes."""
    broken: dict[str, Document] = {
        "KIND_UNKNOWN": {"nodes": {"act": {**stage(), "kind": "stagee"}}},
        "FORM_UNKNOWN_KEY": {"nodes": {"act": {**stage(), "promt": "x"}}},
        "LABEL_DEAD": {
            "nodes": {"act": stage(), "then": stage()},
            "edges": [edge("act", "then", "sucess")],
        },
    }
    for code, graph in broken.items():
        (found,) = [one for one in workflow_validate(graph).errors if one.code == code]
        assert found.place
        assert found.remedy
        with pytest.raises(RefusedError if code[0] != "F" else UsageError):
            workflow_execute(desk, "t", graph)
    assert not any(desk.events(type="run.started"))


GUARDED: list[Document] = [
    stage(capability_policy={"side_effect_level": "workspace_write"}),
    stage(capability_policy={"side_effect_level": "process_exec"}),
    stage(
        capability_policy=READ,
        tools=[{"name": "run", "handler": "workflow_stages:says"}],
    ),
    {"kind": "verify", "verify": {"command": "true"}},
]


@pytest.mark.parametrize("node", GUARDED)
def test_b9_guardrails(desk: Ledger, node: Document) -> None:
    """B9: what exceeds the host ceiling is invalid, says so, and is not run."""
    graph = chain(act=node)
    report = workflow_validate(graph, READ)
    assert not report.valid
    assert any("host ceiling" in one.message for one in report.errors)

    with pytest.raises(RefusedError, match="host ceiling"):
        workflow_execute(desk, "t", graph, [], {"ceiling": READ})


def test_b11_a_finished_run_is_not_resumed(desk: Ledger) -> None:
    """B11: a run that completed is not resumed, and nothing is written."""
    done = finished(desk, chain(act=stage()))
    before = desk.head
    with pytest.raises(RefusedError):
        desk.resume(done.run_id)

    assert desk.head == before


STOPS: list[bool] = []


def stops(given: StageInput) -> str:
    """Press Ctrl-C, if somebody wants that."""
    if STOPS:
        STOPS.clear()
        raise KeyboardInterrupt
    return sees(given)


def struck(desk: Ledger, graph: Document) -> str:
    """Return a run of *graph* that Ctrl-C interrupted."""
    STOPS.append(True)
    with pytest.raises(KeyboardInterrupt):
        workflow_execute(desk, "t", graph)
    return str(next(desk.events(type="run.started", order="desc")).run)


def programmed(desk: Ledger, graph: object, task: str = "t") -> Any:
    """Return a graph as a program."""
    return ready_workflow(desk, task, graph)  # type: ignore[arg-type]


def test_b11_another_graph_is_refused(desk: Ledger) -> None:
    """B11: a resume with another graph, or another task, writes and performs nothing."""
    graph = chain(act=seeing(), then={"handler": stops})
    run_id = struck(desk, graph)
    before, calls = desk.head, len(SEEN)
    other = {**graph, "nodes": {**graph["nodes"], "act": stage("data")}}
    for program in (programmed(desk, other), programmed(desk, graph, "another")):
        with pytest.raises(RefusedError) as refused:
            desk.resume(run_id, program)
        assert refused.value.rule == "workflow/changed"
    assert (desk.head, len(SEEN)) == (before, calls)

    assert desk.resume(run_id, programmed(desk, graph)).status == "completed"


def test_another_graph_goes_on_with_what_was_made(desk: Ledger) -> None:
    """No fork takes another graph; a new run of it is given what the old one made."""
    graph = chain(act=seeing(), then={"handler": stops})
    run_id = struck(desk, graph)
    other = chain(act=seeing(), after=stage("says"))
    first, before = next(desk.events(run=run_id)).seq, desk.head
    with pytest.raises(RefusedError) as refused:
        desk.fork(run_id, at=first, program=programmed(desk, other))
    assert (refused.value.rule, desk.head) == ("workflow/changed", before)
    assert "recorded_artifacts" in refused.value.remedy
    made = recorded_artifacts(desk, run_id)
    assert [one.id for one in made] == ["act.1#0"]
    done = workflow_execute(desk, "t", other, made)
    assert done.status == "completed", done.error
    assert [one.id for one in done.artifacts] == [
        "act.1#0",
        "2/act.1#0",
        "2/after.1#0",
    ]
    assert replay(desk, done.run_id).verdict == "acceptable"


def test_a_changed_handler_is_refused(
    desk: Ledger, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resume that finds other source under a handler's name performs nothing."""
    file = place / "handlers_here.py"
    file.write_text("def act(stage):\n    return 'one'\n")
    monkeypatch.syspath_prepend(place)
    graph = chain(act={"handler": "handlers_here:act"}, then={"handler": stops})
    run_id = struck(desk, graph)
    before = desk.head

    file.write_text("def act(stage):\n    return 'another'\n")
    monkeypatch.delitem(sys.modules, "handlers_here")
    importlib.invalidate_caches()
    with pytest.raises(RefusedError):
        desk.resume(run_id)
    with pytest.raises(RefusedError):
        desk.resume(run_id, programmed(desk, graph))
    assert (desk.head, SEEN) == (before, [])


@pytest.mark.parametrize("what", ["text", "data"])
def test_b13_a_changed_content(desk: Ledger, what: str) -> None:
    """B13: a replay over one changed content fails, and names the first event of it."""
    handler = "says" if what == "text" else "data"
    done = finished(desk, chain(act=stage(handler), then=stage()))
    (first, _) = desk.events(run=done.run_id, type="artifact.recorded")
    ref: Any = first.data[what]
    TAMPERED.add(desk.path)
    with tampering(desk.path) as connection:
        changed = connection.execute(
            "UPDATE blob SET data = CAST(data || 'x' AS BLOB) WHERE digest = ?",
            (bytes.fromhex(ref.digest.rpartition(":")[2]),),
        )
    assert changed.rowcount == 1

    found = [one for one in verify(desk.path, home=desk.home).findings if one.seq]
    (made, _) = desk.events(run=done.run_id, type="stage.completed")
    assert (found[0].rule, found[0].seq) == ("blob/size", made.seq)
    with pytest.raises(MunimentError) as failed:
        replay(desk, done.run_id)
    assert failed.value.rule == "blob/commitment"


LOOKS = [1, 2]
"""What a handler looks at; a test takes one away."""


def looks(run: Run, stage: StageCall) -> str:
    """Look at each, in the lane, so that a replay answers it."""
    for one in LOOKS:
        run.effect("tool", {"look": one}, lambda _: "seen")
    return stage.node


def test_b13_unused_material(desk: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """B13: a program that leaves a recorded effect unused is not accepted, and is told so."""
    done = finished(desk, chain(act={"handler": looks}))
    monkeypatch.setattr(sys.modules[__name__], "LOOKS", [1])
    report = replay(desk, done.run_id)

    assert report.verdict == "unacceptable"
    (_, second) = desk.events(run=done.run_id, type="tool.requested")
    (found,) = report.findings
    assert (found.what, found.seq) == ("missing", second.seq)


def test_b22_what_is_shown_is_what_is_recorded(desk: Ledger, answers: Answers) -> None:
    """B22: the recorded ids are those that a handler got, and that a prompt renders."""
    given = [text(number, f"text {number}") for number in range(5)]
    node = {"context_policy": {"max_artifacts": 2}}
    done = finished(
        desk, chain(act=seeing(**node), ask=asking(prompt="x", **node)), *given
    )

    said = [
        one.data["selected"]
        for one in desk.events(run=done.run_id, type="context.selected")
    ]
    assert [one.id for one in SEEN[0].artifacts] == said[0]
    prompt = str(answers.asked[0]["prompt"])
    shown = re.findall("<id>(.*?)</id>", prompt)
    assert shown == said[1]


def test_b25_a_refusal_is_signed(desk: Ledger) -> None:
    """B25: a refused graph leaves a signed fact with all findings, which verifies."""
    graph = chain(act={"handler": never, "prompt": "x"}, then={"kind": "fork"})
    with pytest.raises(RefusedError, match="FORK_NARROW"):
        workflow_execute(desk, "t", graph)

    (refused,) = desk.events(type="workflow.refused")
    assert refused.data["graph"] == workflow_graph(graph).digest
    rows: Any = refused.data["findings"]
    assert [row["code"] for row in rows] == ["FORK_NARROW"]
    assert verify(desk.path, home=desk.home).ok
    assert not any(desk.events(type="run.started"))

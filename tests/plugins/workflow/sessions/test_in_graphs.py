"""Nodes that name a session converse in it; what goes on at once writes forks."""

from __future__ import annotations

import csv
import io

import pytest

from conversing import Counting, answers, shown, talk
from muniment import replay
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow import run_record, workflow_execute, workflow_validate
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_ancestry,
    agent_session_inject,
    agent_session_open,
    agent_session_snapshot,
)
from workflow_stages import Document, chain, edge, graph_of, stage


def test_nodes_share_a_session(desk: Ledger, model: Counting) -> None:
    """Nodes that name one id share their conversation, in this run and in the next."""
    graph = chain(a=talk(), b=talk(), c=talk("other"))
    first = workflow_execute(desk, "t", graph)
    assert first.status == "completed", first.error
    assert answers(desk, "desk") == ["seen 1", "seen 3"]
    done = workflow_execute(desk, "t", graph)
    assert answers(desk, "desk")[2:] == ["seen 5", "seen 7"]
    assert answers(desk, "other") == ["seen 1", "seen 3"]
    roles = [one["role"] for one in model.asked[-2]["messages"]]
    assert roles == ["user", "assistant"] * 3 + ["user"]
    asked = len(model.asked)
    assert replay(desk, done.run_id).verdict == "acceptable"
    assert len(model.asked) == asked


def test_a_loop_remembers(desk: Ledger) -> None:
    """A stage that is visited again has what it said before."""
    graph = graph_of(
        {
            "act": talk(max_visits=3),
            "check": {
                "kind": "verify",
                "verify": {"command": "test -e done || { touch done; false; }"},
            },
        },
        edge("act", "check"),
        edge("check", "act", "failed"),
    )
    done = workflow_execute(desk, "t", graph)
    assert done.status == "completed", done.error
    assert answers(desk, "desk") == ["seen 1", "seen 3"]


def test_branches_fork(desk: Ledger) -> None:
    """Parallel nodes write forks of it, in whatever order they come; the session goes on."""
    graph = graph_of(
        {
            "a": talk(),
            "split": {"kind": "fork"},
            "l": talk(),
            "l2": talk(),
            "r": talk(),
            "meet": {"kind": "join"},
            "z": talk(),
        },
        edge("a", "split"),
        edge("split", "l"),
        edge("split", "r"),
        edge("l", "l2"),
        edge("l2", "meet"),
        edge("r", "meet"),
        edge("meet", "z"),
    )
    done = workflow_execute(desk, "t", graph)
    assert done.status == "completed", done.error
    assert answers(desk, "desk") == ["seen 1", "seen 3"]
    told = agent_session_ancestry(desk, "desk")
    assert told is not None
    forks = {one.partition("@")[0]: one for one in told["child_ids"]}
    assert forks.keys() == {"desk~split.1/l", "desk~split.1/r"}
    assert answers(desk, forks["desk~split.1/l"]) == ["seen 1", "seen 3", "seen 5"]
    assert answers(desk, forks["desk~split.1/r"]) == ["seen 1", "seen 3"]
    assert replay(desk, done.run_id).verdict == "acceptable"


def test_items_fork(desk: Ledger) -> None:
    """So do the items of a map."""
    items = {"kind": "map", "map_policy": {"items": ["x", "y"]}, "body": talk()}
    done = workflow_execute(desk, "t", chain(a=talk(), each=items))
    assert done.status == "completed", done.error
    assert answers(desk, "desk") == ["seen 1"]
    told = agent_session_ancestry(desk, "desk")
    assert told is not None
    assert [answers(desk, one) for one in told["child_ids"]] == [
        ["seen 1", "seen 3"]
    ] * 2


def test_a_session_that_another_run_has(desk: Ledger) -> None:
    """A graph is refused a session that another run has, or forks it, as its node says."""
    agent_session_open(desk, "desk")
    with desk.run("other") as run, RunSession.join(run, "desk") as mine:
        mine.inject({"role": "user", "content": "mine"})
        run.effect("data", {}, lambda _: None)
        refused = workflow_execute(desk, "t", chain(a=talk()))
        assert refused.status == "failed"
        assert run.id in str(refused.error)
        node = talk()
        node["model_policy"]["session_held"] = "fork"
        forked = workflow_execute(desk, "t", chain(a=node))
        assert forked.status == "completed", forked.error
    assert answers(desk, "desk") == []
    assert answers(desk, f"desk~{forked.run_id}") == ["seen 2"]


def test_a_verifier_reads_the_session(desk: Ledger, model: Counting) -> None:
    """A judge is given the conversation, and adds nothing to it."""
    judge = talk(kind="verify", verify={"rubric": "Is it polite?"})
    done = workflow_execute(desk, "t", chain(a=talk(), judge=judge))
    assert done.status == "completed", done.error
    said = [one["content"] for one in model.asked[-1]["messages"]]
    assert "seen 1" in said
    assert "Judge" in said[-1]
    assert answers(desk, "desk") == ["seen 1"]


def test_a_transcript_is_required(desk: Ledger) -> None:
    """A node that requires a transcript ends in error without one."""
    graph = chain(a=talk(input_contract={"require_transcript": True}))
    done = workflow_execute(desk, "t", graph)
    (ended,) = desk.events(run=done.run_id, type="node.completed")
    assert (done.status, ended.data["branch"]) == ("failed", "error")
    assert ended.data["rule"] == "workflow/transcript"
    agent_session_inject(desk, "desk", {"role": "user", "content": "hi"})
    assert workflow_execute(desk, "t", graph).status == "completed"


@pytest.mark.parametrize("name", ["auto_compact", "enabled"])
def test_compacted_by_itself(desk: Ledger, name: str) -> None:
    """Above its threshold a session is compacted before the model is asked."""
    threshold = {"auto_compact": "compact_threshold", "enabled": "token_threshold"}[
        name
    ]
    policy = {
        name: True,
        threshold: 60,
        "keep_last": 2,
        "compact_strategy": "custom",
        "custom_compactor": "session_stages:summed",
    }
    graph = chain(**{f"n{n}": talk(auto_compact=policy) for n in range(4)})
    done = workflow_execute(desk, "a task with so many words that it is long", graph)
    assert done.status == "completed", done.error
    compacted = list(desk.events(run=done.run_id, type="session.compacted"))
    assert compacted
    assert {one.data["reason"] for one in compacted} == {"threshold"}
    assert "\nsummed " in shown(desk, "desk")[0]["content"]
    assert replay(desk, done.run_id).verdict == "acceptable"


def test_private_parts_stay_apart(desk: Ledger) -> None:
    """What a model thinks, and what its provider sends besides, is in no visible text."""
    done = workflow_execute(desk, "t", chain(a=talk()))
    record = str(run_record(desk, done.run_id))
    assert "secret" not in record
    assert "secret" not in str(agent_session_snapshot(desk, "desk"))
    message = shown(desk, "desk", private=True)[-1]
    assert message["private"]["provider_payload"]["reasoning"] == "secret"


@pytest.mark.parametrize("shows", ["public", "public_only"])
def test_public(desk: Ledger, shows: str) -> None:
    """A node that shows the public part only leaves nothing private in its session."""
    workflow_execute(desk, "t", chain(a=talk(output_visibility=shows)))
    assert all("private" not in one for one in shown(desk, "desk", private=True))


def test_private(desk: Ledger, model: Counting) -> None:
    """What a private node makes comes to nobody: not to later nodes, not in its record."""
    graph = chain(a=talk(output_visibility="private"), b=talk(None), c=stage("says"))
    done = workflow_execute(desk, "t", graph)
    assert done.status == "completed", done.error
    assert "seen 1" not in str(model.asked[-1])
    record = run_record(desk, done.run_id)
    first = record["stages"][0]
    assert first["produced_artifact_ids"] == ["a.1#0"]
    assert "seen 1" not in str(record)
    assert "seen 1" in str(run_record(desk, done.run_id, private=True))
    assert [one.id for one in done.artifacts] == ["b.1#0", "c.1#0"]
    assert "seen 1" not in str(agent_session_snapshot(desk, "desk"))
    assert answers(desk, "desk") == ["[private]"]
    assert shown(desk, "desk", private=True)[-1]["content"] == "seen 1"


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (talk(None, auto_compact={"enabled": True}), "SESSION_MISSING"),
        (talk(None, output_visibility="public"), "SESSION_MISSING"),
        (talk(None, input_contract={"require_transcript": True}), "SESSION_MISSING"),
        (talk(auto_compact={"compact_strategy": "custom"}), "AUTO_COMPACT_INCOMPLETE"),
        (stage(output_visibility="public"), "KEY_INERT"),
        (stage(auto_compact={"enabled": True}), "KEY_INERT"),
    ],
)
def test_what_would_not_act_is_found(node: Document, code: str) -> None:
    """Nothing that is declared is inert."""
    report = workflow_validate(chain(act=node))
    assert code in [one.code for one in report.errors]


def test_two_answers_to_one_question(desk: Ledger) -> None:
    """Nodes that say different things of one session are refused."""
    other = talk()
    other["model_policy"]["session_held"] = "fork"
    with pytest.raises(RefusedError, match="SESSION_HELD_TWICE"):
        workflow_execute(desk, "t", chain(a=talk(), b=other))


def test_exports_have_nothing_private(desk: Ledger) -> None:
    """What a private node makes, and what is private of messages, is in no export."""
    graph = chain(a=talk(output_visibility="private"), b=talk())
    done = workflow_execute(desk, "t", graph)
    with Ledger.open(
        desk.path, home=desk.home, plugins=("workflow", "evidence")
    ) as opened:
        table = opened.export(done.run_id, "csv").decode()
        for name in ("otlp", "prov", "ro-crate"):
            assert b"secret" not in opened.export(done.run_id, name)
    rows = list(csv.DictReader(io.StringIO(table)))
    held = {
        (row["type"], row["scope"]): (row["contents"], row["missing"])
        for row in rows
        if row["type"].startswith(("session.", "artifact."))
    }
    assert not any("secret" in contents for contents, _ in held.values())
    for kind in ("session.message_appended", "artifact.recorded"):
        contents, missing = held[kind, "a.1"]
        assert "seen 1" not in contents
        assert '"state":"private"' in missing
    assert "seen 3" in held["artifact.recorded", "b.1"][0]

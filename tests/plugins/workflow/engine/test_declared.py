"""What a graph declares is enforced, or the graph is refused: nothing is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.errors import RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    workflow_execute,
    workflow_graph,
    workflow_validate,
)
from workflow_stages import Document, chain, edge, graph_of, stage


def forked(fork: Document | None = None, **join: object) -> Document:
    """Return a graph of a fork with two branches, and a way back to it."""
    nodes = {
        "fork": {"kind": "fork", **(fork or {})},
        "a": stage(),
        "b": stage(),
        "join": {"kind": "join", **join},
    }
    edges = [edge("fork", "a"), edge("fork", "b"), edge("a", "join"), edge("b", "join")]
    return graph_of(nodes, *edges)


def mapped(**more: object) -> Document:
    """Return a graph of a map with a body."""
    body = {"handler": "workflow_stages:says"}
    said = {"kind": "map", "map_policy": {"items": [1]}, "body": body, **more}
    return chain(many=said)


@pytest.mark.parametrize(
    ("graph", "code", "place"),
    [
        (forked(input_contract={}), "KEY_INERT", "nodes.join.input_contract"),
        (forked({"output_contract": {}}), "KEY_INERT", "nodes.fork.output_contract"),
        (
            forked(join_policy={"strategy": "first", "min_completed": 2}),
            "JOIN_QUORUM",
            "nodes.join.join_policy.min_completed",
        ),
        (
            forked(
                join_policy={
                    "strategy": "quorum",
                    "min_completed": 1,
                    "require_all_inputs": True,
                }
            ),
            "JOIN_QUORUM",
            "nodes.join.join_policy.require_all_inputs",
        ),
        (
            mapped(join_policy={"min_completed": 1, "require_all_inputs": True}),
            "JOIN_QUORUM",
            "nodes.many.join_policy.min_completed",
        ),
        (
            chain(act=stage(output_contract={"min_inputs": 2})),
            "FORM_UNKNOWN_KEY",
            "nodes.act.output_contract.min_inputs",
        ),
        (
            chain(act=stage(input_contract={"output_kinds": ["plan"]})),
            "FORM_UNKNOWN_KEY",
            "nodes.act.input_contract.output_kinds",
        ),
        (
            chain(act=stage(model_policy={"model": "m"})),
            "KEY_INERT",
            "nodes.act.model_policy",
        ),
        (
            chain(act=stage(context_assembler={"budget_tokens": 9})),
            "KEY_INERT",
            "nodes.act.context_assembler",
        ),
        (
            chain(act=stage(context_assembler={"budget": 9})),
            "FORM_UNKNOWN_KEY",
            "nodes.act.context_assembler.budget",
        ),
        (
            chain(v={"kind": "verify", "verify": {"notes": ["x"], "expect_status": 3}}),
            "VERIFY_NO_COMMAND",
            "nodes.v.verify.expect_status",
        ),
        (
            mapped(retry_policy={"max_attempts": 3}),
            "KEY_INERT",
            "nodes.many.retry_policy",
        ),
        (
            mapped(join_policy={"strategy": "first"}, body={"kind": "escalation"}),
            "RACE_DECIDES",
            "nodes.many.body",
        ),
        (
            chain(sub={"kind": "subagent", "graph": chain(a=stage()), "timeout_s": 1}),
            "KEY_INERT",
            "nodes.sub.timeout_s",
        ),
        (
            mapped(body=stage(retry_policy={"max_atempts": 3})),
            "FORM_UNKNOWN_KEY",
            "nodes.many.body.retry_policy.max_atempts",
        ),
        (
            chain(
                sub={"kind": "subagent", "graph": {"nodes": {"a": {"hander": "m:f"}}}}
            ),
            "FORM_UNKNOWN_KEY",
            "nodes.sub.graph.nodes.a.hander",
        ),
    ],
)
def test_what_nothing_would_read(graph: Document, code: str, place: str) -> None:
    """What would have no effect is an error, with its place."""
    found = {one.place: one.code for one in workflow_validate(graph).errors}

    assert found.get(place) == code, found


def test_graphs_in_graphs_have_a_normal_form() -> None:
    """The short form may stand in a subagent; its normal form is the same once more."""
    inner = {"act": stage(), "verify": {"command": "true"}, "name": None}
    graph = workflow_graph(chain(sub={"kind": "subagent", "graph": inner}))

    said = graph.nodes["sub"].document["graph"]
    assert isinstance(said, dict)
    assert (said["name"], said["entry"]) == ("sub", "act")
    assert workflow_graph(graph.document).digest == graph.digest


@pytest.mark.parametrize("who", ["fork", "join"])
def test_forks_and_joins_count_their_visits(book: Ledger, who: str) -> None:
    """A loop over a fork ends where its fork, or its join, may not be visited again."""
    graph = forked({"max_visits": 2} if who == "fork" else {})
    if who == "join":
        graph["nodes"]["join"]["max_visits"] = 2
    graph["edges"].append(edge("join", "fork"))
    done = workflow_execute(book, "a task", graph, [], {"max_steps": 99})

    assert done.status == "failed"
    assert f"{who}: it may be visited 2 times" in str(done.error)


def test_checks_are_tried_again(book: Ledger, place: Path) -> None:
    """A command that takes too long is tried again, as the policy says."""
    command = "test -f there || { touch there; sleep 60; }"
    check = {"kind": "verify", "timeout_s": 1, "verify": {"command": command}}
    graph = chain(v={**check, "retry_policy": {"max_attempts": 2}})

    assert workflow_execute(book, "a task", graph).status == "completed"
    assert (place / "there").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"required_identifers": ["a"]}', "c.json: required_identifers"),
        ('{"checks": [{"kind": "texts", "value": "a"}]}', "c.json: checks[0].kind"),
        ("[]", "c.json"),
    ],
)
def test_contracts_in_files_are_checked(
    book: Ledger, place: Path, text: str, said: str
) -> None:
    """A file that is no contract is refused, with its key, before anything is run."""
    (place / "c.json").write_text(text)
    graph = chain(v={"kind": "verify", "verify": {"contract_path": "c.json"}})

    with pytest.raises(UsageError, match=r"c\.json") as refused:
        workflow_execute(book, "a task", graph)
    assert said in refused.value.place
    assert [*book.runs()] == []


def asked(book: Ledger, place: Path, **more: object) -> str:
    """Return what a model is asked by a stage that has two artifacts."""
    (place / "answers.json").write_text('["done"]')
    node = {
        "mode": "llm",
        "model_policy": {"provider": "scripted", "model": "answers.json"},
        **more,
    }
    given = [{"id": "long", "text": "a few words " * 9}, {"id": "short", "text": "b"}]
    done = workflow_execute(book, "Mend it.", chain(act=node), given)
    (request,) = book.events(run=done.run_id, type="llm.requested")
    said: Document = book.resolve(request)["request"]  # type: ignore[assignment]
    return str(said["prompt"])


def test_contexts_are_rendered_as_the_policy_says(book: Ledger, place: Path) -> None:
    """A policy that wants JSON gets JSON; a label stands above the task."""
    text = asked(book, place, context_policy={"render": "json"}, task_label="Issue 7")

    assert '"id":"short"' in text
    assert "<artifact>" not in text
    assert "Issue 7:\nMend it." in text


def test_contexts_are_cut_into_chunks(book: Ledger, place: Path) -> None:
    """An assembler decides which chunks a model sees, and the record says which."""
    cut = {"budget_tokens": 9, "chunk_tokens": 5}
    text = asked(book, place, context_assembler=cut)

    (fact,) = book.events(type="context.selected")
    chunks = book.resolve(fact)["assembled"]["chunks"]  # type: ignore[index]
    assert text.count("<chunk>") == len(chunks) > 0
    assert "a few words " * 9 not in text


def test_tools_of_a_single_call() -> None:
    """A node that asks a model once is warned of tools that nobody would call."""
    node = {"mode": "llm", "model_policy": {"model": "m"}, "tools": [{"name": "read"}]}

    codes = {one.code for one in workflow_validate(chain(act=node)).warnings}
    assert "TOOLS_UNCALLED" in codes


def test_a_refusal_is_recorded(book: Ledger) -> None:
    """A graph that cannot run leaves a fact with its findings, and no run."""
    with pytest.raises(RefusedError):
        workflow_execute(book, "a task", forked(input_contract={}))

    (fact,) = book.events(type="workflow.refused")
    assert book.resolve(fact)["findings"]
    assert [*book.runs()] == []


def test_failures_in_failures_say_one_remedy(book: Ledger) -> None:
    """What failed in a map fails the map; the message says once what can be done."""
    many = {**stage("raises"), "kind": "map", "map_policy": {"items": [1]}}
    done = workflow_execute(book, "a task", chain(many=many))

    assert "body raised" in str(done.error)
    assert str(done.error).count("let an edge") == 1


def test_a_verdict_of_a_branch_is_taken_back(book: Ledger) -> None:
    """A verifier that failed in a branch, and passes in a later visit, is no failure."""
    command = "test -f flag || { touch flag; false; }"
    nodes = {
        "fork": {"kind": "fork"},
        "check": {"kind": "verify", "verify": {"command": command}},
        "note": stage(),
        "b": stage(),
        "join": {"kind": "join"},
        "if": {
            "kind": "condition",
            "metadata": {"contains_text": "note:"},
            "context_policy": {"max_artifacts": 2, "prefer_recent": True},
        },
        "end": stage(),
    }
    edges = [
        edge("fork", "check"),
        edge("fork", "b"),
        edge("check", "note", "failed"),
        edge("check", "join"),
        edge("note", "join"),
        edge("b", "join"),
        edge("join", "if"),
        edge("if", "fork", "true"),
        edge("if", "end", "false"),
    ]
    done = workflow_execute(
        book, "a task", graph_of(nodes, *edges), [], {"max_steps": 40}
    )

    assert done.status == "completed", done.error
    visited = book.events(run=done.run_id, type="verification.concluded")
    assert len([*visited]) == 2

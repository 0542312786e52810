"""What nothing reads is refused: by the kind of the node, and by what else it says."""

from __future__ import annotations

from typing import Any

import pytest

from graph_keys import RIGHT
from muniment.ledger import Ledger
from muniment_plugins.workflow import artifact, workflow_execute, workflow_validate
from muniment_plugins.workflow.documents.shapes import NODE
from muniment_plugins.workflow.nodes.box import BOX
from muniment_plugins.workflow.nodes.kind import keys_of

Node = dict[str, Any]
LLM: Node = {"mode": "llm", "model_policy": {"model": "scripted:x"}, "prompt": "x"}
MAP: Node = {"kind": "map", "map_policy": {"items": [1]}}
VERIFY: Node = {"kind": "verify", "verify": {"command": "true"}}
TOOL = {"name": "t", "parameters": {}, "handler": "a:b", "policy": {"kind": "read"}}


def codes(node: Node, **more: Any) -> dict[str, str]:
    """Return place → code of the errors of a graph of one node."""
    graph = {"nodes": {"act": node}, **more}
    return {one.place: one.code for one in workflow_validate(graph).errors}


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (kind, key)
        for kind in BOX
        for key in sorted(
            {*NODE.optional} - keys_of(BOX[kind]) - {"id", "transcript_policy"}
        )
    ],
)
def test_a_key_that_a_kind_does_not_read(kind: str, key: str) -> None:
    """Each key, at each kind: what the kind does not read is refused with its place."""
    policies = ("capability_policy", "approval_policy", "context_policy")
    value = RIGHT.get(key, {} if key in policies else [])
    if key == "context_assembler":
        value = {}
    if key == "graph":
        value = {"nodes": {"a": {"handler": "a:b"}}}
    report = workflow_validate({"nodes": {"act": {"kind": kind, key: value}}})
    found = [(one.place, one.code) for one in report.errors]
    assert (f"nodes.act.{key}", "KEY_INERT") in found


INERT: dict[str, tuple[Node, str, str]] = {
    "a mode beside a handler": ({"handler": "a:b", **LLM}, "handler", "WORK_TWICE"),
    "in a map": ({**MAP, "handler": "a:b", **LLM}, "handler", "WORK_TWICE"),
    "an agent beside a handler": (
        {"handler": "a:b", "mode": "agent"},
        "handler",
        "WORK_TWICE",
    ),
    "a prompt that nobody is given": ({**VERIFY, "prompt": "x"}, "prompt", "KEY_INERT"),
    "a system text": ({**VERIFY, "system": "x"}, "system", "KEY_INERT"),
    "tools of a command": ({**VERIFY, "tools": [TOOL]}, "tools", "KEY_INERT"),
    "a function that is none": (
        {**VERIFY, "mode": "function"},
        "verify.handler",
        "HANDLER_MISSING",
    ),
    "a judge of nothing": (
        {"kind": "verify", "mode": "llm", "model_policy": {"model": "scripted:x"}},
        "verify.rubric",
        "VERIFY_NO_RUBRIC",
    ),
    "a status of no command": (
        {
            "kind": "verify",
            "verify": {"checks": [{"kind": "expect_status", "value": 0}]},
        },
        "verify.checks[0]",
        "VERIFY_NO_COMMAND",
    ),
    "output of no command": (
        {
            "kind": "verify",
            "verify": {"checks": [{"kind": "combined_output_contains", "value": "x"}]},
        },
        "verify.checks[0]",
        "VERIFY_NO_COMMAND",
    ),
    "a separator beside a handler": (
        {"kind": "reduce", "handler": "a:b", "reduce_policy": {"separator": ""}},
        "reduce_policy.separator",
        "KEY_INERT",
    ),
    "retries of no handler": (
        {"kind": "reduce", "retry_policy": {"max_attempts": 2}},
        "retry_policy",
        "KEY_INERT",
    ),
    "a time of no handler": (
        {"kind": "reduce", "timeout_s": 1},
        "timeout_s",
        "KEY_INERT",
    ),
    "a kind beside items": (
        {"kind": "map", "map_policy": {"items": [1], "item_artifact_kind": "plan"}},
        "map_policy.item_artifact_kind",
        "KEY_INERT",
    ),
    "a kind beside a body": (
        {
            "kind": "map",
            "map_policy": {"items": [1], "output_kind": "plan"},
            "body": {"handler": "a:b"},
        },
        "map_policy.output_kind",
        "KEY_INERT",
    ),
    "visits of a body": (
        {**MAP, "body": {"handler": "a:b", "max_visits": 3}},
        "body.max_visits",
        "KEY_INERT",
    ),
    "names in a body": (
        {**MAP, "body": {"handler": "a:b", "branch_semantics": {"success": "q"}}},
        "body.branch_semantics",
        "KEY_INERT",
    ),
    "a kind that the contract forbids": (
        {
            "kind": "reduce",
            "reduce_policy": {"output_kind": "plan"},
            "output_contract": {"output_kinds": ["summary"]},
        },
        "reduce_policy.output_kind",
        "OUTPUT_KIND",
    ),
    "a kind of a map that the contract forbids": (
        {
            "kind": "map",
            "map_policy": {"items": [1], "output_kind": "plan"},
            "output_contract": {"output_kinds": ["summary"]},
        },
        "map_policy.output_kind",
        "OUTPUT_KIND",
    ),
    "more than the items that are taken": (
        {
            "kind": "map",
            "map_policy": {"items": [1, 2, 3], "max_items": 1},
            "join_policy": {"min_completed": 2},
        },
        "join_policy.min_completed",
        "JOIN_QUORUM",
    ),
    "more than may answer": (
        {"kind": "escalation", "escalation_policy": {"quorum": 2, "of": ["ann"]}},
        "escalation_policy.quorum",
        "ESCALATION_QUORUM",
    ),
    "more than can ever be asked": (
        {"kind": "escalation", "escalation_policy": {"quorum": 17}},
        "escalation_policy.quorum",
        "ESCALATION_QUORUM",
    ),
    "more keys than can be asked": (
        {
            "kind": "escalation",
            "escalation_policy": {"of": [f"SHA256:{n}" for n in range(17)]},
        },
        "escalation_policy.of",
        "ESCALATION_QUORUM",
    ),
    "kinds that are in and out": (
        {
            "handler": "a:b",
            "context_policy": {"include_kinds": ["plan"], "exclude_kinds": ["plan"]},
        },
        "context_policy.exclude_kinds",
        "CONTEXT_EMPTY",
    ),
    "all tokens reserved": (
        {
            "handler": "a:b",
            "context_policy": {"max_tokens": 5, "reserve_tokens": 10},
        },
        "context_policy.reserve_tokens",
        "CONTEXT_EMPTY",
    ),
    "a reference to nothing": (
        {"handler": "a:b", "output_contract": {"schema": {"$ref": "#/$defs/none"}}},
        "output_contract.schema",
        "CONTRACT_SCHEMA",
    ),
}
"""What a key says beside another one, its place, and the code."""


@pytest.mark.parametrize("case", sorted(INERT))
def test_a_key_beside_another(case: str) -> None:
    """What another key overrules, or makes impossible, is refused with its place."""
    node, place, code = INERT[case]
    assert codes(node).get(f"nodes.act.{place}") == code, codes(node)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$defs": {"a": {}}, "$ref": "#/$defs/a"},
        {"$defs": {"a/b": {}}, "$ref": "#/$defs/a~1b"},
        {"$defs": {"a": {"$anchor": "x"}}, "$ref": "#x"},
        {"properties": {"$ref": {"type": "string"}}},
        {"const": {"$ref": "#/nothing"}},
        {"anyOf": [{"type": "string"}], "$ref": "#/anyOf/0"},
    ],
)
def test_references_that_lead_somewhere(schema: Node) -> None:
    """A pointer, an anchor, the whole; and what is data, or a name, is no reference."""
    assert not codes({"handler": "a:b", "output_contract": {"schema": schema}})


# Conditions.

TEXTS = (None, "hello", "bye")
KINDS = (None, "resource", "plan")


def condition(said: Node, **more: Any) -> Node:
    """Return a graph of a condition with two ways on."""
    return {
        "entry": "c",
        "nodes": {
            "c": {"kind": "condition", "metadata": said, **more},
            "t": {"kind": "reduce", "input_contract": {"input_kinds": ["plan"]}},
            "f": {"kind": "reduce", "input_contract": {"input_kinds": ["plan"]}},
        },
        "edges": [
            {"from": "c", "to": "t", "branch": "true"},
            {"from": "c", "to": "f", "branch": "false"},
        ],
    }


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_reads_both(
    text: str | None, kind: str | None, book: Ledger
) -> None:
    """One artifact has the text, and is of the kind; what is not given any has."""
    given = [("resource", "hello"), ("plan", "bye")]
    both = {"contains_text": text, "artifact_kind": kind}
    said = {name: one for name, one in both.items() if one is not None}
    artifacts = [artifact({"kind": one, "text": body}) for one, body in given]
    done = workflow_execute(book, "t", condition(said), artifacts)
    (first, *_) = book.events(run=done.run_id, type="node.completed")
    expected = any(text in (None, body) and kind in (None, one) for one, body in given)
    assert first.data["branch"] == ("true" if expected else "false")


@pytest.mark.parametrize("key", ["contains_text", "artifact_kind"])
@pytest.mark.parametrize("value", [0, 12345, False, True, [], ["bye"], {}, 1.5])
def test_a_condition_on_what_is_no_text(key: str, value: Any) -> None:
    """It is refused, and does not mean that any artifact will do."""
    (found,) = workflow_validate(condition({key: value})).errors
    place = f"nodes.c.metadata.{key}"
    assert (found.code, found.place) == ("CONDITION_TYPE", place)


def test_a_condition_whose_key_is_misspelled() -> None:
    """Metadata is the user's own, so a near miss is a warning."""
    (found,) = workflow_validate(condition({"contain_text": "x"})).warnings
    assert (found.code, found.place) == (
        "CONDITION_MISSPELLED",
        "nodes.c.metadata.contain_text",
    )


def test_a_condition_with_a_handler_reads_nothing_else() -> None:
    """The handler decides alone."""
    graph = condition({"contains_text": "x"}, handler="a:b")
    (found,) = workflow_validate(graph).errors
    assert (found.code, found.place) == ("KEY_INERT", "nodes.c.metadata.contains_text")

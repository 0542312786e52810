"""What cannot run is refused before anything runs, with the place and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute
from workflow_stages import Document, chain, edge, graph_of, stage

CHECK = {"kind": "verify", "verify": {"command": "true"}}


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        ({}, "nodes: it is missing"),
        ({"nodes": {}}, "ENTRY_UNKNOWN"),
        ({"nodes": {"a": None}}, "nodes.a: it is null"),
        ({"nodes": {"a": {}}}, "nodes.a: WORK_MISSING"),
        ({"nodes": {"a": {"handlr": "x:y"}}}, "nodes.a.handlr: nothing reads this"),
        ({"nodes": {"a": {"handler": "gone:x"}}}, "no module gone"),
        ({"nodes": {"a": stage("sayz")}}, "did you mean says"),
        ({"nodes": {"a": {"kind": "stagee"}}}, "KIND_UNKNOWN: .*did you mean stage"),
        (graph_of({"a": stage()}, edge("a", "b")), r"edges\[0\].to: EDGE_UNKNOWN"),
        (graph_of({"a": stage()}, edge("a", "a", "nevr")), "LABEL_DEAD"),
        (chain(a=stage(verify={"command": "true"})), "nodes.a.verify: KEY_INERT"),
        (chain(v={"kind": "verify"}), "VERIFY_NO_CHECKS"),
        (chain(v={"kind": "verify", "verify": {"command": []}}), "the list is empty"),
        (chain(v={"kind": "verify", "verify": {"command": 3}}), "command: it is a num"),
        (
            chain(v={"kind": "verify", "verify": {"contract_path": "gone.json"}}),
            "gone.json: it cannot be read",
        ),
        (
            chain(v={"kind": "verify", "verify": {"contract_path": "odd.json"}}),
            "odd.json: commands: nothing reads this key",
        ),
        (
            chain(a=stage(output_contract={"schema": {"type": "nope"}})),
            "CONTRACT_SCHEMA",
        ),
        (
            chain(a=stage(output_contract={"schema": {"$ref": "http://x/y"}})),
            "CONTRACT_SCHEMA: .*not in this schema",
        ),
        (chain(a={"kind": "stage", "mode": "agent"}), "MODEL_MISSING"),
    ],
)
def test_graphs(book: Ledger, place: Path, graph: Document, says: str) -> None:
    """No run is begun; a graph that cannot run leaves its findings, signed."""
    (place / "odd.json").write_text(json.dumps({"commands": ["true"]}))
    with pytest.raises(MunimentError, match=says) as caught:
        workflow_execute(book, "t", graph)

    assert isinstance(caught.value, RefusedError | UsageError)
    assert list(book.runs()) == []
    refused = [one.data for one in book.events(type="workflow.refused")]
    assert len(refused) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_step": 3}, "did you mean max_steps"),
        ({"max_steps": 0}, "max_steps: 0 is below 1"),
        ({"executor": "gone"}, "no executor is called"),
        ({"cwd": "/nowhere/at/all"}, "cwd: there is no folder"),
        ({"persist_path": "x.json"}, "persist_path: .*muniment export"),
        ({"resume_path": "x.json"}, "resume_path: .*muniment resume"),
        ({"replay_mode": "deterministic"}, "replay_mode: .*muniment replay"),
        ({"audit": True}, "audit: .*everything is recorded"),
        ({"mutation_scope": "read_only"}, "mutation_scope: .*ceiling"),
        ({"ceiling": {"side_effect_level": "much"}}, "side_effect_level"),
    ],
)
def test_options(book: Ledger, options: Document, says: str) -> None:
    """An option that nothing reads is refused, and one of elsewhere says where."""
    with pytest.raises(MunimentError, match=says):
        workflow_execute(book, "t", chain(a=stage(), v=CHECK), [], options)
    assert list(book.runs()) == []

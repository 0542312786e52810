"""What can be wrong with a verifier: it checks nothing, or says what nothing would read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from muniment.documents.places import near
from muniment_plugins.workflow.contracts.verifier import (
    CHECK_KINDS,
    OF_COMMANDS,
    ContractCheck,
    VerifierContract,
    value_fault,
)
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.model import model_findings
from muniment_plugins.workflow.nodes.work import inert, unasked_findings

if TYPE_CHECKING:
    from muniment.documents.places import At
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode

__all__ = ["verify_findings"]

_OF_COMMANDS = ("expect_status", "expect_text", "timeout_s")
_OF_WORKERS = ("prompt", "system", "tools")


def verify_findings(
    node: WorkflowNode, graph: WorkflowGraph
) -> Iterable[WorkflowFinding]:
    """Return what is wrong with a verifier."""
    said, at = node.part("verify"), node.at.key("verify")
    judged = node.mode in ("llm", "agent")
    known = VerifierContract(node.name, said)
    if not (known.checks or "contract_path" in said or "handler" in said or judged):
        yield WorkflowFinding(
            "VERIFY_NO_CHECKS",
            "error",
            at.path,
            "it checks nothing, so it verifies nothing",
            "write a command, texts, a handler, or a rubric and a mode",
        )
    if "contract_path" not in said:
        yield from _uncommanded(node, known)
    yield from _workers(node, judged)
    for place, one in _rows(at, known):
        if one.kind not in CHECK_KINDS:
            yield WorkflowFinding(
                "VERIFY_CHECK_UNKNOWN",
                "error",
                place.key("kind").path,
                f"no check is called {one.kind!r:.60}",
                near(one.kind, CHECK_KINDS),
            )
        elif (fault := value_fault(one)) is not None:
            yield WorkflowFinding(
                "VERIFY_CHECK_VALUE", "error", place.path, fault, "write one that fits"
            )
    yield from model_findings(node, graph) if judged else unasked_findings(node)


def _rows(at: At, known: VerifierContract) -> Iterator[tuple[At, ContractCheck]]:
    """Yield the checks whose values no shape has checked, each with its place."""
    if known.command is not None:
        status = ContractCheck("expect_status", known.said.get("expect_status", 0))
        yield at.key("expect_status"), status
    paths = cast("list[str]", known.said.get("required_paths", []))
    for number, path in enumerate(paths):
        yield at.key("required_paths").item(number), ContractCheck("path", path)
    for number, one in enumerate(known.rows):
        yield at.key("checks").item(number), one


def _uncommanded(
    node: WorkflowNode, known: VerifierContract
) -> Iterator[WorkflowFinding]:
    """Yield what is said of a command, where there is none."""
    if known.command is not None:
        return
    at = node.at.key("verify")
    places = [at.key(one) for one in _OF_COMMANDS if one in known.said]
    rows = at.key("checks")
    places += [
        rows.item(n) for n, one in enumerate(known.rows) if one.kind in OF_COMMANDS
    ]
    for place in places:
        yield WorkflowFinding(
            "VERIFY_NO_COMMAND",
            "error",
            place.path,
            "there is no command that it could be about",
            "write a command, or leave it out",
        )


def _workers(node: WorkflowNode, judged: bool) -> Iterator[WorkflowFinding]:
    """Yield what is wrong with who judges: nobody, or somebody who is asked nothing."""
    said, at = node.part("verify"), node.at.key("verify")
    if "rubric" in said and not judged:
        yield WorkflowFinding(
            "VERIFY_NO_JUDGE",
            "error",
            at.key("rubric").path,
            "nobody judges by the rubric",
            "write the mode llm, and a model_policy",
        )
    has_rubric = "rubric" in said or "prompt" in node.document
    if node.mode == "llm" and not has_rubric:
        yield WorkflowFinding(
            "VERIFY_NO_RUBRIC",
            "error",
            at.key("rubric").path,
            "a model judges, and nothing says by what",
            "write a rubric, or a prompt",
        )
    if "handler" in said or judged:
        return
    if node.mode == "function":
        yield WorkflowFinding(
            "HANDLER_MISSING",
            "error",
            at.key("handler").path,
            "no function judges",
            'write "module:function" into verify.handler, or leave the mode out',
        )
    for key in _OF_WORKERS:
        if key in node.document:
            yield inert(node.at.key(key), "neither a function nor a model judges here")

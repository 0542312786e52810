"""``verify``: what was made is held against a contract; never verified without a check.

    {"kind": "verify", "verify": {"command": "make test", "assert_text": "passed"}}
    {"kind": "verify", "verify": {"handler": "checks:is_sound"}}
    {"kind": "verify", "mode": "llm", "verify": {"rubric": "Is it polite?"}, …}

Rules:

- Names and texts may be in what the command prints, in an artifact that is selected, or in
  a file that the contract asks for. A name is found as a whole word.
- The files are held to the policy of the node, as the paths of a tool are.
- A handler returns true or false, or ``{"ok": …, "reason": …}``; anything else is no
  verdict, and fails.
- A model judges by the rubric, and by the prompt of the node: `nodes.verdicts` says which
  of its answers passes.
- Each check is a fact, with what was expected and what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed
from muniment_plugins.workflow.contracts.commands import (
    awaited_check,
    checked,
    has_word,
)
from muniment_plugins.workflow.contracts.reading import PathRefused, reading_fault
from muniment_plugins.workflow.contracts.verifier import (
    ContractCheck,
    VerifierContract,
)
from muniment_plugins.workflow.documents.words import BRANCHES, FAILED
from muniment_plugins.workflow.nodes.agent import looped
from muniment_plugins.workflow.nodes.kind import MODEL_KEYS
from muniment_plugins.workflow.nodes.model import asked_model
from muniment_plugins.workflow.nodes.verdicts import judged_row
from muniment_plugins.workflow.nodes.verify_findings import verify_findings
from muniment_plugins.workflow.nodes.work import given_to
from muniment_plugins.workflow.runtime.failures import AgentStopped, WorkflowFailed
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.sessions.in_graphs import is_private
from muniment_plugins.workflow.stages.outputs import require_inputs
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment_plugins.workflow.artifacts.artifact import Artifact
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode
    from muniment_plugins.workflow.findings import WorkflowFinding

__all__ = ["VerifyKind"]

Row = dict[str, JsonValue]
_JUDGE = (
    "Judge the context by this rubric. Begin your answer with PASS or FAIL, then say "
    "why.\n\n"
)
_JUDGE_ANYHOW = (
    "Judge whether the task is done, by what you find out. Begin your answer with PASS or "
    "FAIL, then say why."
)


class VerifyKind:
    """The kind ``verify``."""

    name = "verify"
    branches = BRANCHES["verify"]
    keys = frozenset(
        {
            "verify",
            "mode",
            "prompt",
            "system",
            "tools",
            "context_policy",
            "retry_policy",
            "timeout_s",
            "capability_policy",
            "approval_policy",
            "output_visibility",
            *MODEL_KEYS,
        }
    )

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a verifier: it checks nothing."""
        return verify_findings(node, graph)

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Check all that the contract says, and conclude."""
        given = here.select()
        require_inputs(here.node, given)
        contract = here.conduct.contracts[here.node.at.path]
        came = await self._looked(here, contract)
        rows = [_held(one, came, given) for one in contract.checks]
        rows += await self._asked(here, given)
        good = bool(rows) and all(row["ok"] for row in rows)
        verdict = "verified" if good else "verification_failed"
        told = rows if not is_private(here.node) else [_withheld(one) for one in rows]
        said = EngineFact(node=here.node.name, verdict=verdict, checks=told)
        here.lane.record("verification.concluded", said)
        text = f"{came.get('stdout', '')}{came.get('stderr', '')}" or verdict
        made = here.artifact(text, {**came, "checks": [*rows], "ok": good})
        made = replace(made, lineage=tuple(one.id for one in given))
        return NodeOutcome("passed" if good else FAILED, verdict, [made])

    @staticmethod
    async def _looked(here: NodeVisit, contract: VerifierContract) -> Row:
        """Return what came of the command, and of the files that are asked for."""
        kinds: dict[str, list[JsonValue]] = {}
        for one in contract.checks:
            kinds.setdefault(one.kind, []).append(one.value)
        paths = kinds.get("path", [])
        if contract.command is None and not paths:
            return {}
        may = here.conduct.permissions(here.node).policy
        fault = reading_fault(may, cast("list[str]", paths))
        if fault is not None:
            raise _refused(here, fault)
        request: Row = {
            "paths": paths,
            "texts": kinds.get("text", []),
            "words": kinds.get("identifier", []),
        }
        if contract.command is not None:
            request |= {"command": contract.command, "timeout_s": contract.timeout_s}
        perform = partial(
            awaited_check if here.conduct.lanes.is_async else checked,
            place=here.conduct.place,
            most=here.node.timeout_s,
            policy=may,
        )

        async def once() -> object:
            try:
                return await here.effect("check", request, perform, keeps_time=True)
            except EffectFailed as failed:
                if failed.error_type != PathRefused.__name__:
                    raise
                raise _refused(here, failed.message) from failed

        return cast("Row", await here.attempt(once))

    @staticmethod
    async def _asked(here: NodeVisit, given: list[Artifact]) -> list[Row]:
        """Return what a handler, or a model, concluded."""
        rows: list[Row] = []
        said, node = here.node.part("verify"), here.node
        if "handler" in said:
            path = str(said["handler"])
            work = given_to(here, given)

            async def once() -> object:
                return await here.conduct.call(here, path, work)

            rows.append(_verdict("handler", await here.attempt(once)))
        if node.mode in ("llm", "agent"):
            rows.append(judged_row(await _judged(here, given)))
        return rows


async def _judged(here: NodeVisit, given: list[Artifact]) -> str:
    """Return what a model says: after one call, or after a loop with tools."""
    node = here.node
    said = (node.part("verify").get("rubric"), node.document.get("prompt"))
    words = [str(one) for one in said if one is not None]
    rubric = "\n\n".join(words)
    prompt = _JUDGE + rubric if words else _JUDGE_ANYHOW
    asked = replace(given_to(here, given), prompt=prompt)

    async def once() -> object:
        return await asked_model(here, asked, speaks=False)

    try:
        if node.mode == "agent":
            return (await looped(here, asked, speaks=False)).text
        return str(await here.attempt(once))
    except AgentStopped as stopped:
        if stopped.__cause__ is not None:  # nobody judged, well or badly
            raise stopped.__cause__ from None
        return f"no verdict: {stopped.message}"


def _refused(here: NodeVisit, fault: str) -> WorkflowFailed:
    """Return the error for a file that the policy of the node does not allow."""
    return WorkflowFailed(
        fault,
        rule="workflow/verify-path",
        place=here.node.name,
        remedy="let the verifier look at what its policy allows, or change the policy",
    )


def _withheld(row: Row) -> Row:
    """Return a check as it is stated of a node whose output is private."""
    return {**row, "actual": "[private]"} if "actual" in row else row


def _verdict(kind: str, value: object) -> Row:
    """Return the check that a handler's *value* stands for."""
    reason: JsonValue = None
    ok = value
    if isinstance(value, Mapping):
        members = cast("Mapping[str, JsonValue]", value)
        ok, reason = members.get("ok"), members.get("reason")
    row: Row = {"kind": kind, "ok": ok is True, "expected": True, "actual": reason}
    if not isinstance(ok, bool):
        row["actual"] = f"no verdict: {value!r:.200}"
    return row


def _held(check: ContractCheck, came: Row, given: list[Artifact]) -> Row:
    """Return how *check* came out."""
    row: Row = {"kind": check.kind, "expected": check.value}
    out, error = str(came.get("stdout", "")), str(came.get("stderr", ""))
    wanted = str(check.value)
    if check.kind == "expect_status":
        late = came.get("timed_out") is True
        actual = "timed out" if late else came.get("exit_status")
        return {**row, "ok": actual == check.value and not late, "actual": actual}
    if check.kind == "visible_text_contains":
        text = out if came else "\n".join(one.body for one in given)
        return {**row, "ok": wanted in text}
    if check.kind == "combined_output_contains":
        return {**row, "ok": wanted in out + error}
    files = cast("Mapping[str, Mapping[str, JsonValue]]", came.get("files", {}))
    if check.kind == "path":
        return {**row, "ok": files[wanted]["exists"] is True}
    places = [out + error, *(one.body for one in given)]
    is_word = check.kind == "identifier"
    key = "words" if is_word else "has"
    in_files = any(wanted in cast("list[str]", one[key]) for one in files.values())
    if is_word:
        return {**row, "ok": in_files or any(has_word(one, wanted) for one in places)}
    return {**row, "ok": in_files or any(wanted in one for one in places)}

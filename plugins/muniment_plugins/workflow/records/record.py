"""The record of a run of a graph, as people and programs read it.

    record = run_record(ledger, run)
    record["status"], record["stages"][0]["node_id"], record["artifacts"][0]["text"]

Rules:

- It is viewed, and nowhere kept: it says what the events say now. Contents that were
  erased are marked, and their commitments listed in ``erased``.
- A run that is open, waits, failed or was given up has a record as well.
- It holds what the engine can have stated, of nodes of the graph that the run pinned, and
  what the run is marked with, whoever did: what else it has, `muniment events` shows.
- Times are RFC 3339. What is not known is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import UsageError, WrongError
from muniment.events.visibility import INSTEAD, PRIVATE, VISIBILITY
from muniment.formats.lifecycle import MARKED
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.kinds import HANDOFF
from muniment_plugins.workflow.ceilings.levels import SIDE_EFFECT_LEVELS
from muniment_plugins.workflow.records.artifact_views import (
    artifacts_of,
    is_withheld,
    typed_artifact,
)
from muniment_plugins.workflow.records.branch_order import in_branch_order
from muniment_plugins.workflow.records.checkpoints import checkpoints_of, queue_of
from muniment_plugins.workflow.records.child_runs import child_runs_of
from muniment_plugins.workflow.records.contents import Contents, is_erased
from muniment_plugins.workflow.records.derived.marks import marks_of
from muniment_plugins.workflow.records.derived.observability import observability_of
from muniment_plugins.workflow.records.derived.raced import with_raced
from muniment_plugins.workflow.records.held.fitting import misfit
from muniment_plugins.workflow.records.held.pinned import is_of_graph, pinned
from muniment_plugins.workflow.records.rows import Row, part
from muniment_plugins.workflow.records.run_rows import is_walk
from muniment_plugins.workflow.records.skeleton import WorkflowRecords
from muniment_plugins.workflow.records.stage_views import (
    stage_views,
    transition_views,
)
from muniment_plugins.workflow.records.usage_views import usage_view

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "SCHEMA_VERSION",
    "recorded_artifacts",
    "run_record",
    "walks_graph",
    "where_it_goes_on",
]

SCHEMA_VERSION = 1


def walks_graph(ledger: Ledger, run: str) -> bool:
    """Tell whether *run* walks a graph: whether its program is the engine."""
    started = next(ledger.events(run=run, limit=1), None)
    return started is not None and is_walk(started)


def run_record(ledger: Ledger, run: str, *, private: bool = False) -> dict[str, Any]:
    """Return the record of *run*, an id or a unique prefix of one.

    With *private* the outputs of nodes that are private are in it, too.

    Raises:
        UsageError: there is no such run, or it walks no graph.
        WrongError: a content contradicts its commitment, or is none of a run of a graph.

    """
    skeleton, contents, params = _opened(ledger, run, private=private)
    skeleton = with_raced(skeleton, contents)
    graph: Mapping[str, Any] = params.get("graph", {})
    artifacts = artifacts_of(skeleton, contents, params)
    entry = _entry(params)
    begun = part(skeleton, "workflow")
    record: Row = {
        **_identity(skeleton, contents, params),
        "marks": marks_of(contents, ledger.events(run=skeleton["id"], type=MARKED))
        or None,
        "stages": stage_views(skeleton, contents, graph, artifacts),
        "transitions": transition_views(skeleton, contents),
        "checkpoints": checkpoints_of(skeleton, entry),
        "queue": queue_of(skeleton, entry),
        "child_runs": child_runs_of(ledger, skeleton, contents, params),
        "artifacts": artifacts,
        "handoffs": [one.get("data") for one in artifacts if one["kind"] == HANDOFF],
        "usage": usage_view(skeleton.get("usage", {})),
        "answered_usage": _answered_usage(skeleton),
        "hitl_questions": [*_questions(skeleton, contents)],
        "policy": contents.of(begun.get("policy", {})),
        "execution": _execution(contents, begun, params),
        "published": contents.of_all(skeleton["published"]) or None,
        "metadata": _metadata(skeleton, contents, graph, params),
    }
    record["observability"] = observability_of(record)
    if contents.erased:
        record["erased"] = [*contents.erased]
    found = {name: value for name, value in record.items() if value is not None}
    odd = misfit(found)
    if odd is not None:
        raise _wrong(run, f"what is said as {odd} of its record is none")
    return found


def _answered_usage(skeleton: Row) -> Row | None:
    """Return what the origin of a fork took for what it answered; None without that."""
    sums = part(skeleton, "answered_usage")
    return usage_view(sums) if sums else None


def where_it_goes_on(ledger: Ledger, run: str) -> list[str]:
    """Return the nodes where *run* is, or goes on if it is resumed, as its record has them.

    Raises:
        UsageError: there is no such run, or it walks no graph.
        WrongError: the params are none of a run of a graph.

    """
    skeleton, _, params = _opened(ledger, run)
    nodes: list[str] = queue_of(skeleton, _entry(params))["pending_nodes"]
    return nodes


def _entry(params: Mapping[str, Any]) -> str | None:
    return cast("str | None", params.get("graph", {}).get("entry"))


def recorded_artifacts(ledger: Ledger, run: str) -> list[Artifact]:
    """Return what *run* was given and what it made; erased contents are missing.

    Of a complete run it is what its result names, in that order; of another, all that
    there is. Branches come in the order of the edges, whoever was first.
    """
    skeleton, contents, params = _opened(ledger, run)
    skeleton = with_raced(skeleton, contents)
    skeleton = {**skeleton, "artifacts": in_branch_order(skeleton)}
    rows = artifacts_of(skeleton, contents, params)
    named = _named_by(contents.of(part(skeleton, "ending").get("result")))
    if named is not None:
        known = {row["id"]: row for row in rows}
        rows = [known[one] for one in named if one in known]
    return [typed_artifact(one) for one in rows if not is_withheld(one)]


def _named_by(result: object) -> list[str] | None:
    """Return the ids that the *result* of a run names; None if there is none."""
    if not isinstance(result, dict) or is_erased(cast("Row", result)):
        return None
    listed: list[Row] = cast("Row", result).get("artifacts", [])
    return [one["id"] for one in listed]


def _opened(
    ledger: Ledger, run: str, *, private: bool = False
) -> tuple[Row, Contents, Mapping[str, Any]]:
    """Return the skeleton of *run*, what reads contents, and the params of its start.

    Without *private* the params of a private run have the graph, and not what it is to do.

    Raises:
        UsageError: there is no such run, or it walks no graph.
        WrongError: the params are none of a run of a graph.

    """
    found = ledger.project(WorkflowRecords, run=run)
    if not found["walks"]:
        raise UsageError(
            "it walks no graph",
            rule="workflow/run",
            place=f"run {run}",
            remedy="name a run of a workflow; `muniment runs show` shows any other",
        )
    contents = Contents(ledger, private=private)
    said: object = contents.of(found["start"].get("params"))
    if is_erased(said):
        return pinned(found, {}), contents, {}
    params = cast("Row", said) if isinstance(said, dict) else {}
    if not is_of_graph(params):
        raise _wrong(run, "its params are not those of a run of a graph")
    skeleton = pinned(found, params)
    if found["start"].get("visibility") == PRIVATE and not private:
        given = [_named_only(one) for one in params["artifacts"]]
        params = {**params, "task": INSTEAD, "artifacts": given}
    return skeleton, contents, params


def _named_only(artifact: Row) -> Row:
    """Return what is shown of an *artifact* that a private run was given."""
    said: Row = {
        name: artifact[name] for name in ("id", "kind", "stage") if name in artifact
    }
    return {**said, VISIBILITY: PRIVATE}


def _wrong(run: str, message: str) -> WrongError:
    return WrongError(
        message,
        rule="workflow/record",
        place=f"run {run}",
        remedy="the engine writes no such thing: `muniment events --run RUN` shows who did",
    )


def _identity(skeleton: Row, contents: Contents, params: Mapping[str, Any]) -> Row:
    start, ending = skeleton["start"], part(skeleton, "ending")
    parent, graph = part(start, "parent"), part(cast("Row", params), "graph")
    known = skeleton["workflow"] or {"workflow": graph.get("name") or start.get("name")}
    view: Row = {
        "_type": "run_record",
        "schema_version": SCHEMA_VERSION,
        "id": skeleton["id"],
        "workflow_id": known["workflow"],
        "task": params.get("task", contents.of(start.get("params"))),
        "status": skeleton["status"],
        "started_at": skeleton["started_at"],
        "finished_at": skeleton["finished_at"],
        "parent_run_id": parent.get("run"),
        "root_run_id": parent.get("root"),
        "reason": contents.of(ending.get("reason")),
    }
    if start.get("name") != view["workflow_id"]:
        view["workflow_name"] = start.get("name")
    if "error_type" in ending:
        message = contents.of(ending.get("message"))
        message = INSTEAD if message is None else message
        view["error"] = {"type": ending["error_type"], "message": message}
    return view


def _execution(contents: Contents, begun: Row, params: Mapping[str, Any]) -> Row:
    """Return where commands ran, as the run was told and as it was."""
    said = {"cwd": params["options"]["cwd"]} if "options" in params else {}
    folder = contents.of(begun.get("folder"))
    return said if folder is None else {**said, "folder": folder}


def _questions(skeleton: Row, contents: Contents) -> Iterator[Row]:
    for one in skeleton["questions"]:
        view: Row = {
            "request_id": one["hash"],
            "stage_id": one["scope"] or None,
            "prompt": contents.of(one.get("prompt")),
            "asked_at": one["at"],
            "quorum": one.get("quorum"),
            "outcome": one.get("outcome"),
            "decided_at": one.get("decided_at"),
        }
        yield {name: value for name, value in view.items() if value is not None}


def _metadata(
    skeleton: Row,
    contents: Contents,
    graph: Mapping[str, Any],
    params: Mapping[str, Any],
) -> Row:
    begun, start = part(skeleton, "workflow"), skeleton["start"]
    options = params.get("options", {})
    said: Row = {
        "workflow_version": begun.get("version"),
        "graph_digest": begun.get("graph"),
        "node_digests": _node_digests(graph),
        "max_steps": begun.get("max_steps"),
        "effective_policy": contents.of(begun.get("policy")),
        "approval_policy": options.get("approval_policy"),
        "executor": options.get("executor"),
        "workflow_metadata": graph.get("metadata"),
        "mutation_session": _mutation_session(skeleton["id"], start, options),
        "resumed": skeleton["resumed"],
        "replayed_from": start.get("replay_of"),
        "forked_from": part(start, "fork").get("run"),
        "labels": start.get("labels"),
        "tenant": start.get("tenant"),
    }
    return {name: value for name, value in said.items() if value is not None}


def _node_digests(graph: Mapping[str, Any]) -> dict[str, str] | None:
    """Return what each node of *graph* is, by the SHA-256 of its canonical JSON."""
    nodes: Mapping[str, JsonValue] | None = graph.get("nodes")
    if nodes is None:
        return None
    return {name: sha256_tag(canonical(one)) for name, one in nodes.items()}


def _mutation_session(run: str, start: Row, options: Mapping[str, Any]) -> Row:
    """Return whose changes the tools, children and artifacts of *run* are.

    The run is the session, and its ceiling the scope: without one that is the highest
    level, since nothing limits it.
    """
    parent: Row = start.get("parent") or {}
    above = parent.get("run")
    ceiling: Mapping[str, Any] = options.get("ceiling") or {}
    said: Row = {
        "session_id": f"session_{run}",
        "parent_session_id": None if above is None else f"session_{above}",
        "run_id": run,
        "worker_id": parent.get("key"),
        "execution_kind": "workflow" if above is None else "subagent",
        "mutation_scope": ceiling.get("side_effect_level", SIDE_EFFECT_LEVELS[-1]),
        "approval_policy": options.get("approval_policy"),
    }
    return {name: value for name, value in said.items() if value is not None}

"""The stages of a record, as they are viewed.

    {"id": "act.1", "node_id": "act", "visit": 1, "scope": "", "kind": "stage",
     "status": "completed", "outcome": "success", "branch": "success", "attempts": [{…}],
     "consumed_artifact_ids": ["a1"], "produced_artifact_ids": ["act.1#0"], …}

Rules:

- What a graph says of a node is copied from the graph that the run pinned.
- A verdict is there if its checks say so: verified is what has checks, all of them good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from muniment_plugins.workflow.records.agents.agent_views import agent_view
from muniment_plugins.workflow.records.checkpoints import status_of_stage
from muniment_plugins.workflow.records.contents import Contents, is_erased
from muniment_plugins.workflow.records.rows import Row, part
from muniment_plugins.workflow.records.usage_views import usage_view

__all__ = ["produced_by", "stage_views", "transition_views"]

_OF_GRAPH = {
    "prompt": "prompt",
    "system": "system_prompt",
    "model_policy": "model_policy",
    "context_policy": "context_policy",
    "retry_policy": "retry_policy",
    "input_contract": "input_contract",
    "output_contract": "output_contract",
    "metadata": "node",
}
"""A node's key → what the metadata of its stages call it."""
_ATTEMPT = (
    *("attempt", "status", "outcome", "branch", "rule", "error_type", "error"),
    *("wait_s", "superseded", "started_at", "finished_at"),
)
_CONTEXT = ("tokens", "budget", "lost", "left_out", "pins", "cuts", "assembled")


def stage_views(
    skeleton: Row, contents: Contents, graph: Mapping[str, Any], artifacts: list[Row]
) -> list[Row]:
    """Return the stages in the order in which they were visited."""
    titles = {one["id"]: one.get("title") for one in artifacts}
    made: dict[str, list[Row]] = {}
    for found, row in zip(
        skeleton["artifacts"], artifacts[-len(skeleton["artifacts"]) :], strict=False
    ):
        made.setdefault(found["scope"], []).append(row)
    return [
        _stage(skeleton, contents, stage, made.get(scope, []))
        | _metadata(skeleton, contents, stage, graph, titles)
        for scope, stage in skeleton["stages"].items()
    ]


def produced_by(contents: Contents, stage: Row) -> list[str]:
    """Return the ids of what a stage made, and of what was made below it."""
    return contents.listed(part(stage, "end").get("produced", []))


def _consumed(contents: Contents, stage: Row) -> list[str]:
    return contents.listed(stage.get("context", {}).get("selected", []))


def _stage(
    skeleton: Row,
    contents: Contents,
    stage: Row,
    made: list[Row],
) -> Row:
    end = part(stage, "end")
    view: Row = {
        "id": stage["scope"],
        "node_id": stage["node"],
        "visit": stage["visit"],
        "scope": stage["scope"].rpartition("/")[0],
        "kind": stage["kind"],
        "status": status_of_stage(skeleton, stage["scope"]),
        "outcome": end.get("outcome"),
        "branch": end.get("branch"),
        "cause": stage.get("cause"),
        "started_at": stage["at"],
        "finished_at": end.get("at"),
        "event": stage["seq"],
        "rule": end.get("rule"),
        "error": contents.of(end.get("error")),
        "item_of": stage.get("item_of"),
        "consumed_artifact_ids": _consumed(contents, stage),
        "produced_artifact_ids": produced_by(contents, stage),
        "attempts": [_attempt(contents, one) for one in stage["attempts"]],
    }
    if len(made) == 1 and stage["kind"] != "map":
        view["visible_text"] = made[0].get("text")
    return {
        name: value
        for name, value in {**view, **_parts(contents, skeleton, stage)}.items()
        if value is not None
    }


def _attempt(contents: Contents, row: Row) -> Row:
    return contents.of_all({name: row[name] for name in _ATTEMPT if name in row})


def _parts(contents: Contents, skeleton: Row, stage: Row) -> Row:
    """Return what only some kinds of nodes state."""
    parts: Row = {}
    verdict = _verdict(contents, stage)
    if verdict is not None:
        parts["verification"] = verdict
    joined = stage.get("joined")
    if joined:
        parts["joined"] = contents.of_all(
            {name: value for name, value in joined.items() if name != "seq"}
        )
    if stage.get("items"):
        parts["items"] = dict(Counter(cast("Row", stage["items"]).values()))
    if stage.get("denials"):
        parts["denials"] = [
            contents.of_all({k: v for k, v in one.items() if k != "seq"})
            for one in stage["denials"]
        ]
    if stage.get("answered"):
        parts["answered"] = [
            {"event": one["seq"], **{k: v for k, v in one.items() if k != "seq"}}
            for one in stage["answered"]
        ]
    loop = skeleton["agents"].get(stage["scope"])
    if loop is not None:
        parts["agent"] = agent_view(loop, skeleton["status"], contents)
    if stage.get("usage"):
        parts["usage"] = usage_view(stage["usage"])
    return parts


def _verdict(contents: Contents, stage: Row) -> Row | None:
    """Return what a verifier found; None if its checks do not say that."""
    said: Row = stage.get("verification") or {}
    if not said:
        return None
    checks: Any = contents.of(said["checks"])
    good = said["verdict"] == "verified"
    if not is_erased(checks):
        rows = cast("list[object]", checks) if isinstance(checks, list) else []
        if not all(map(_is_check, rows)):
            return None
        if (bool(rows) and all(cast("Row", one)["ok"] for one in rows)) != good:
            return None
    return {"verdict": said["verdict"], "ok": good, "checks": checks}


def _is_check(row: object) -> bool:
    said = cast("Row", row) if isinstance(row, dict) else {}
    return isinstance(said.get("kind"), str) and isinstance(said.get("ok"), bool)


def _metadata(
    skeleton: Row,
    contents: Contents,
    stage: Row,
    graph: Mapping[str, Any],
    titles: Mapping[str, Any],
) -> Row:
    """Return what the graph says of the node, and what its context was."""
    node = graph.get("nodes", {}).get(stage["node"], {})
    if "item_of" in stage:
        node = {}
    said: Row = {ours: node[key] for key, ours in _OF_GRAPH.items() if key in node}
    policy = skeleton["policies"].get(stage["node"])
    if policy is not None and "item_of" not in stage:
        said["effective_capability_policy"] = contents.of(policy.get("result", {}))
    context = stage.get("context")
    if context is not None:
        chosen = contents.listed(context["selected"])
        said["selected_artifact_ids"] = chosen
        said["selected_artifact_titles"] = [titles.get(one) for one in chosen]
        parts = {name: context[name] for name in _CONTEXT if name in context}
        said["context"] = contents.of_all(parts)
    return {"metadata": said}


def transition_views(skeleton: Row, contents: Contents) -> list[Row]:
    """Return the ways that were taken, in their order."""
    return [_transition(skeleton, contents, one) for one in skeleton["transitions"]]


def _transition(skeleton: Row, contents: Contents, row: Row) -> Row:
    stage = skeleton["stages"].get(row["stage"])
    view: Row = {
        "id": f"{row['scope']}#{row['ordinal']}",
        "event": row["seq"],
        "from_stage_id": row["stage"],
        "from_node_id": row["source"],
        "to_node_id": row["target"],
        "branch": row.get("branch"),
        "matched": row.get("matched"),
        "timestamp": row["at"],
        "consumed_artifact_ids": [] if stage is None else _consumed(contents, stage),
        "produced_artifact_ids": [] if stage is None else produced_by(contents, stage),
    }
    return {name: value for name, value in view.items() if value is not None}

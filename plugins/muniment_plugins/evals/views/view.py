"""The view that an eval compares: stages by (path, node, visit), contents by digest.

    view = view_of(run_record(ledger, run), Normaliser())
    view["stages"][0]     {"id": "act.1", "node_id": "act", "visit": 1, "branch": "success",
                           "digests": {"artifacts": ["sha256:…"], …}, …}

Rules:

- It is a pure function of the record and the normaliser: equal runs in two ledgers, in two
  folders, at two times, have equal views, but for ``ref``, ``duration_us`` and ``usage``.
- What is private is digested under a key that no view has (`views.sealed`).
- It holds no content. A digest is the SHA-256 of the canonical JSON of the normalised
  content; ``null`` stands for one that equals nothing: it was erased, or a pattern of the
  normaliser took too long, which ``slow`` says.
- What a stage is by its graph (``definition``) is compared, too: a verifier that checks
  something else found something else.
- What a run was held to (``options``) is compared, and so is what the runs below it did:
  ``below`` has a view of each, by the scope of its call.
- Branches run at once: what their stages did is listed, and which was first is not.
- A stage is known by its id, the scope of its visit, so that the visits of a loop are
  stages of their own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import ValueRefused
from muniment.formats.statement import when
from muniment_plugins.evals.views.normaliser import Names, Normaliser
from muniment_plugins.evals.views.patterns import TookTooLong
from muniment_plugins.evals.views.rows import Row, part
from muniment_plugins.evals.views.sealed import (
    PRIVATE,
    Private,
    has_erased,
    has_private,
    unsealed,
)
from muniment_plugins.evals.views.usage import way_usage

__all__ = [
    "CALLS",
    "DIGESTS",
    "Beside",
    "Digests",
    "VisitedArtifacts",
    "asked_of",
    "view_of",
]

DIGESTS = (
    *("definition", "function", "artifacts", "consumed", "error", "verification"),
)
"""What of a stage is compared by digest."""
CALLS = ("tool", "status", "code", "place")
"""What of a call of a tool is compared, beside the digest of its arguments."""
_TALK = ("llm", "decision")
"""Effects whose requests are texts."""
_PARTS = ("text", "data", "title", "metadata")
_PLAIN = ("kind", "source", "freshness", "relevance", "priority")


@dataclass(frozen=True, slots=True)
class Beside:
    """What the ledger says of a run beside its record; a record in a file has none of it."""

    key: bytes | None = None
    """The key of the digests of what is private; without one nobody can tell."""
    calls: Mapping[str, list[Row]] | None = None
    """The calls of tools by the ids of stages; None if they are not known."""
    functions: Mapping[str, str] = field(default_factory=dict[str, str])
    """What verifiers are, by the ids of stages: the digests of their sources."""
    called: Row | None = None
    """What the runs below it took; None if they are not known."""
    effects: Mapping[str, list[Row]] | None = None
    """The effects beside tools, by the ids of stages; None if they are not known."""
    uncompared: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many effects are of kinds whose requests are not compared, by kind."""
    below: list[Row] | None = None
    """The views of the runs below it, by their calls; None if they are not known."""
    around: Names | None = None
    """What the run that called it replaces."""


def view_of(
    record: Mapping[str, Any], normaliser: Normaliser, beside: Beside | None = None
) -> Row:
    """Return the view of *record*, whose private parts are sealed."""
    known = Beside() if beside is None else beside
    names = normaliser.of(record, known.around)
    artifacts = VisitedArtifacts(record["artifacts"])
    slow: list[str] = []
    view = _viewed(record, Digests(names, slow, known.key), artifacts, known)
    return {**view, "slow": [*dict.fromkeys(slow)]} if slow else view


def _viewed(
    record: Mapping[str, Any],
    names: Digests,
    artifacts: VisitedArtifacts,
    beside: Beside,
) -> Row:
    said = part(record, "metadata")
    normaliser = names.names.normaliser
    nodes = part(said, "node_digests") if normaliser.compares("graph") else None
    return {
        "normaliser": normaliser.document(),
        "run": record["id"],
        "workflow_id": record["workflow_id"],
        "status": record["status"],
        "graph": said.get("graph_digest"),
        "options": _options(names, record),
        "task": names.of(record.get("task")),
        "given": [
            names.of_artifact(one) for one in record["artifacts"] if "event" not in one
        ],
        "stages": [
            _stage(names, one, artifacts, nodes, beside) for one in record["stages"]
        ],
        "transitions": sorted(
            [_left(one), one["to_node_id"], one.get("branch") or ""]
            for one in record["transitions"]
        ),
        "checkpoints": len(record["checkpoints"]),
        "children": sorted(
            [one.get("worker_name") or "", one["status"]]
            for one in record["child_runs"]
        ),
        "questions": [_question(names, one) for one in record["hitl_questions"]],
        "published": {
            name: names.of(one) for name, one in part(record, "published").items()
        },
        "usage": way_usage(record),
        "called": _called(record) if beside.called is None else beside.called,
        "below": _below(record, beside),
        "uncompared": beside.uncompared,
        "duration_us": _duration(record),
        "origin": {
            name: said[name]
            for name in ("forked_from", "replayed_from", "labels")
            if name in said
        },
    }


def _called(record: Mapping[str, Any]) -> Row:
    """Return what is known of the runs below one whose record is in a file."""
    return {"runs": 0, "unknown": len(record["child_runs"])}


def _below(record: Mapping[str, Any], beside: Beside) -> list[Row] | None:
    """Return the views of the runs below; that a record in a file names none is known."""
    return beside.below if record["child_runs"] else beside.below or []


def _options(names: Digests, record: Mapping[str, Any]) -> Row:
    """Return what the run was held to; the steps are as many as its graph is long."""
    said = part(record, "metadata")
    found: Row = {
        "ceiling": names.of(record.get("policy") or {}),
        "approval_policy": names.of(said.get("approval_policy")),
    }
    if names.names.normaliser.compares("graph") and "max_steps" in said:
        found["max_steps"] = said["max_steps"]
    return found


class Digests:
    """Makes digests of contents, and keeps what was too slow for that."""

    def __init__(self, names: Names, slow: list[str], key: bytes | None) -> None:
        self.names = names
        self._slow = slow
        self._key = key

    def of(self, value: Any) -> str | None:
        """Return the digest of *value*; None if it equals nothing."""
        if has_erased(value):
            return None
        try:
            return self._hashed(self.names.plain(unsealed(value)), has_private(value))
        except TookTooLong as error:
            self._slow.append(str(error))
            return None

    def _hashed(self, value: JsonValue, private: bool) -> str | None:
        """Return the digest of *value*; under a key, if it is private."""
        found = _hashed(value)
        if not private:
            return found
        if self._key is None:
            return None
        made = hmac.new(self._key, found.encode(), hashlib.sha256)
        return f"{PRIVATE}:{made.hexdigest()}"

    def of_artifact(self, row: Row) -> str | None:
        """Return the digest of an artifact, by what it holds and what it was made from."""
        compared = [one for one in _PARTS if self.names.normaliser.compares(one)]
        found: Row = {name: row[name] for name in (*_PLAIN, *compared) if name in row}
        if has_erased(found):
            return None
        kept: Row = {
            name: unsealed(one) for name, one in found.items() if name in _PLAIN
        }
        try:
            for what in compared:
                if what in row:
                    kept[what] = self.names.plain(unsealed(row[what]))
            kept["lineage"] = self.names.ids(unsealed(row.get("lineage", [])))
        except TookTooLong as error:
            self._slow.append(str(error))
            return None
        return self._hashed(kept, has_private(found))


class VisitedArtifacts:
    """The artifacts of a record; the visits of a loop may make several of one id."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows: dict[str, list[Row]] = {}
        for one in rows:
            self._rows.setdefault(one["id"], []).append(one)

    def made_by(self, stage: Row) -> list[Row]:
        """Return what *stage* made: of one id, the first after it began."""
        rows = map(self._listed, stage["produced_artifact_ids"])
        begun = stage["event"]
        later = ([one for one in row if one.get("event", -1) > begun] for row in rows)
        return [row[0] for row in later if row]

    def given_to(self, stage: Row) -> list[Row]:
        """Return what *stage* worked on: of one id, the last before it began."""
        rows = map(self._listed, stage["consumed_artifact_ids"])
        begun = stage["event"]
        before = ([one for one in row if one.get("event", -1) < begun] for row in rows)
        return [row[-1] for row in before if row]

    def _listed(self, known: str) -> list[Row]:
        return self._rows.get(known, [])


def _stage(
    names: Digests,
    stage: Row,
    artifacts: VisitedArtifacts,
    nodes: Mapping[str, str] | None,
    beside: Beside,
) -> Row:
    made = artifacts.made_by(stage)
    consumed = [names.of_artifact(one) for one in artifacts.given_to(stage)]
    tried = [one for one in stage["attempts"] if not one.get("superseded")]
    digests: Row = {
        "artifacts": [names.of_artifact(one) for one in made],
        "consumed": consumed,
    }
    if nodes is not None and "item_of" not in stage:
        digests["definition"] = nodes.get(stage["node_id"])
        if stage["id"] in beside.functions:
            digests["function"] = beside.functions[stage["id"]]
    for what, value in (
        ("error", stage.get("error")),
        ("verification", stage.get("verification")),
    ):
        if value is not None and names.names.normaliser.compares(what):
            digests[what] = names.of(value)
    view: Row = {
        "id": stage["id"],
        "node_id": stage["node_id"],
        "visit": stage["visit"],
        "kind": stage["kind"],
        "status": stage["status"],
        "outcome": stage.get("outcome"),
        "branch": stage.get("branch"),
        "rule": stage.get("rule"),
        "attempts": len(tried),
        "artifact_kinds": [one["kind"] for one in made],
        "denials": [one.get("code") for one in stage.get("denials", [])],
        "digests": digests,
        **asked_of(names, stage["id"], beside, part(stage, "agent")),
    }
    if "item_of" in stage:
        view["item_of"] = stage["item_of"]
    return {name: value for name, value in view.items() if value is not None}


def asked_of(
    names: Digests, stage: str, beside: Beside, agent: Row | None = None
) -> Row:
    """Return the calls and effects of a *stage*; without those that nobody knows.

    Of a record in a file it is known what its *agent* called.
    """
    found: Row = {}
    if beside.calls is not None:
        found["calls"] = _calls(names, beside.calls.get(stage, []))
    elif agent:
        rows = [call for turn in agent["turns"] for call in turn["calls"]]
        found["calls"] = _calls(names, rows)
    if beside.effects is not None:
        found["effects"] = [
            _effect(names, one) for one in beside.effects.get(stage, [])
        ]
    return found


def _calls(names: Digests, rows: list[Row]) -> list[Row]:
    found: list[Row] = []
    for one in rows:
        said: Row = {name: one[name] for name in CALLS if one.get(name)}
        if has_private(said):
            said = {name: unsealed(value) for name, value in said.items()}
            said = {"status": said["status"], "hidden": names.of(Private(said))}
        if "arguments" in one:
            said["arguments"] = names.of(one["arguments"])
        found.append(said)
    return found


def _effect(names: Digests, row: Row) -> Row:
    """Return an effect; what is said to a model, or to people, is a text."""
    found: Row = {"kind": row["kind"], "status": row["status"]}
    compares = names.names.normaliser.compares("text")
    if "request" in row and (compares or row["kind"] not in _TALK):
        found["request"] = names.of(row["request"])
    return found


def _left(transition: Row) -> str:
    """Return the stage that a path left, or its node if the record lacks it."""
    return str(transition.get("from_stage_id") or transition["from_node_id"])


def _question(names: Digests, row: Row) -> Row:
    kept: Row = {name: row[name] for name in ("outcome", "quorum") if name in row}
    return {**kept, "digest": names.of(row.get("prompt"))}


def _hashed(value: JsonValue) -> str:
    try:
        return sha256_tag(canonical(value))
    except ValueRefused:  # a record in a file may hold what no event can
        return sha256_tag(repr(value).encode("utf-8", "backslashreplace"))


def _duration(record: Mapping[str, Any]) -> int | None:
    """Return how long the run took, in microseconds; None while it has no end."""
    if "finished_at" not in record:
        return None
    took = when(record["finished_at"]) - when(record["started_at"])
    return took // timedelta(microseconds=1)

"""The record of a governed run, folded from its events: steps, findings, verdicts.

    {"flow_id": "incidents", "tenant_id": "operations", "flow_state": "validated",
     "steps": [{"step_index": 0, "agent_id": "measure", "status": "completed", …}],
     "artifacts": [{"artifact_id": "measure", "content_hash": "sha256:…", …}], …}

Rules:

- It is a projection: what events state, without contents, so that an erasure changes
  nothing. Folded from event 0, or from where a fold stopped, it is the same.
- The words are those that people have for it: an artifact's ``parent_artifacts``, a
  step's ``inputs_fingerprint``. The events are named by their numbers.
- What no flow states is missing, or null: any run has a record.
- It holds governance's own word (`governance.authority`). The same facts stated by a
  program are listed apart, as the program's: by type and event, and nothing of them is
  taken over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

from muniment import Event, Projection
from muniment.encoding.canonical import JsonValue
from muniment_plugins.governance.authority import Authority

__all__ = ["GovernedRecords", "step_of"]

Row = dict[str, JsonValue]

_STEP = re.compile(r"step/(\d+)-")
_AUTHORITY = "authority"
"""Under which name the fold remembers what tells whose word an event is."""
_LISTS = (
    *("steps", "artifacts", "evidence", "claims", "verification_results"),
    *("arbitration_decisions", "human_decisions", "degradations", "violations"),
    *("exhausted_budgets", "non_certifiable_reasons", "stated_by_program"),
)
_NOTHING = (
    *("run_id", "name", "tenant_id", "flow_id", "flow_state", "determinism_level"),
    *("manifest_hash", "plan_hash", "environment_fingerprint", "dataset"),
    *("verification_policy", "parent", "root", "replay_of", "fork_of"),
)


def step_of(scope: str | None) -> int | None:
    """Return the number of the step that *scope* is in."""
    found = _STEP.match(scope or "")
    return None if found is None else int(found[1])


class GovernedRecords(Projection[Row]):
    """The fold; ask for it with ``ledger.project(GovernedRecords, run=…)``."""

    name = "governed-record"
    version = 2

    def initial(self) -> JsonValue:
        """Return the record of a run that has no events."""
        lists: dict[str, JsonValue] = {name: [] for name in _LISTS}
        known = Authority().to_json()
        return {**dict.fromkeys(_NOTHING), **lists, _AUTHORITY: known}

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Take in what *event* states."""
        record = cast("Row", state)
        authority = Authority.from_json(record[_AUTHORITY])
        speaker = authority.speaker(event)
        record[_AUTHORITY] = authority.to_json()
        told = _TOLD.get(event.type)
        if speaker == "program":
            row: Row = {"type": event.type, "scope": event.scope or ""}
            _add(record, "stated_by_program", event, row)
        elif told is not None:
            told(record, event)
        return record

    def view(self, state: JsonValue) -> Row:
        """Return the record."""
        record = dict(cast("Row", state))
        del record[_AUTHORITY]
        record["non_certifiable"] = bool(record["non_certifiable_reasons"])
        return record


def _taken(event: Event, **names: str) -> Row:
    """Return members of the event's data by the names that the record has for them."""
    return {ours: event.raw.get(theirs) for ours, theirs in names.items()}


def _add(record: Row, name: str, event: Event, row: Row) -> None:
    """Add a row to a list of the record, with where it is from."""
    where: Row = {"step_index": step_of(event.scope), "event": event.seq}
    cast("list[JsonValue]", record[name]).append({**row, **where})


def _started(record: Row, event: Event) -> None:
    if record["run_id"] is not None:
        return
    raw, parent, fork = event.raw, event.raw.get("parent"), event.raw.get("fork")
    called: Mapping[str, JsonValue] = parent if isinstance(parent, dict) else {}
    forked: Mapping[str, JsonValue] = fork if isinstance(fork, dict) else {}
    record |= {
        "run_id": event.run,
        "name": raw.get("name"),
        "tenant_id": event.tenant,
        "parent": called.get("run"),
        "root": called.get("root"),
        "replay_of": raw.get("replay_of"),
        "fork_of": forked.get("run"),
    }


def _adopted(record: Row, event: Event) -> None:
    names = {"policy_id": "policy", "fingerprint": "digest", "mode": "mode"}
    record["verification_policy"] = _taken(event, **names, amendment="amendment")


def _planned(record: Row, event: Event) -> None:
    record |= _taken(
        event,
        flow_id="flow",
        flow_state="state",
        determinism_level="level",
        manifest_hash="manifest",
        plan_hash="plan",
    )


def _environment(record: Row, event: Event) -> None:
    record["environment_fingerprint"] = event.raw.get("digest")


def _dataset(record: Row, event: Event) -> None:
    record["dataset"] = _taken(
        event,
        dataset_id="dataset_id",
        dataset_version="version",
        dataset_state="state",
        dataset_hash="sha256",
        declared_hash="declared",
    )


def _step(status: str) -> Callable[[Row, Event], None]:
    """Return what takes in that a step is *status* now."""

    def take(record: Row, event: Event) -> None:
        steps = cast("list[Row]", record["steps"])
        number = event.raw.get("step")
        known = [one for one in steps if one["step_index"] == number]
        if not known:
            names = {"agent_id": "agent", "dependencies": "needs", "seed": "seed"}
            row = _taken(event, **names, inputs_fingerprint="inputs")
            known = [{"step_index": number, **row, "first_event": event.seq}]
            steps += known
        skipped = known[0].get("status") == "skipped"  # and completed as such
        known[0] |= {
            "status": "skipped" if skipped else status,
            "last_event": event.seq,
        }
        known[0] |= _taken(event, state_fingerprint="state")

    return take


def _artifact(record: Row, event: Event) -> None:
    row = _taken(
        event,
        artifact_id="artifact_id",
        artifact_type="artifact_type",
        producer="producer",
        scope="scope",
        parent_artifacts="parents",
        content_hash="digest",
    )
    _add(record, "artifacts", event, row)


def _evidence(record: Row, event: Event) -> None:
    row = _taken(
        event,
        evidence_id="evidence_id",
        determinism="determinism",
        vector_contract_id="contract",
        score="score",
        content_hash="digest",
    )
    _add(record, "evidence", event, row)


def _claims(record: Row, event: Event) -> None:
    about = _taken(event, bundle_id="bundle_id", producer_agent_id="producer")
    for name in cast("list[JsonValue]", event.raw.get("claim_ids") or []):
        _add(record, "claims", event, {"claim_id": name, **about})


def _judged(record: Row, event: Event) -> None:
    row = _taken(event, target="target", engine_id="engine", status="status")
    row |= _taken(event, rules="rules", cost="cost", violations="violations")
    _add(record, "verification_results", event, row)


def _arbitrated(record: Row, event: Event) -> None:
    row = _taken(event, target="target", rule="rule", quorum_threshold="threshold")
    row |= _taken(event, votes="votes", decision="status", decided_by="decided_by")
    _add(record, "arbitration_decisions", event, row)


def _decided(record: Row, event: Event) -> None:
    answers = cast("list[JsonValue]", event.raw.get("answers") or [])
    row: Row = {"outcome": event.raw.get("outcome"), "answers": len(answers)}
    _add(record, "human_decisions", event, row)


def _degraded(record: Row, event: Event) -> None:
    names = ("effect", "scope", "fallback", "budget", "limit")
    _add(record, "degradations", event, {one: event.raw.get(one) for one in names})


def _exhausted(record: Row, event: Event) -> None:
    names = ("budget", "limit", "action", "effect", "scope", "detail")
    row: Row = {one: event.raw.get(one) for one in names}
    _add(record, "exhausted_budgets", event, row)


def _noted(record: Row, event: Event) -> None:
    row: Row = {one: event.raw.get(one) for one in ("target", "rule")}
    _add(record, "violations", event, row)


def _marked(record: Row, event: Event) -> None:
    if event.raw.get("mark") == "non_certifiable":
        row: Row = {"reason": event.raw.get("reason")}
        _add(record, "non_certifiable_reasons", event, row)


_TOLD: Mapping[str, Callable[[Row, Event], None]] = {
    "artifact.produced": _artifact,
    "budget.exhausted": _exhausted,
    "dataset.pinned": _dataset,
    "decision.reached": _decided,
    "effect.degraded": _degraded,
    "environment.fingerprinted": _environment,
    "evidence.collected": _evidence,
    "flow.planned": _planned,
    "flow.step.completed": _step("completed"),
    "flow.step.skipped": _step("skipped"),
    "flow.step.started": _step("started"),
    "policy.adopted": _adopted,
    "reasoning.recorded": _claims,
    "run.marked": _marked,
    "run.started": _started,
    "verification.arbitrated": _arbitrated,
    "verification.judged": _judged,
    "violation.noted": _noted,
}
"""Event type → what takes it in."""

"""The shapes of what people write: every key of a fixture, a manifest and a pack.

Rules:

- What nothing holds a run to is no key: an unknown one is refused, with what was meant.
- Keys that only describe (``description``, ``metadata``, ``package``, ``notes``) are kept
  in the record of the eval, and no run is held to them.
- Keys of the format whose meaning this ledger lacks are named in `LACKING`, each with what
  to write in its place; they are refused by that.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.documents.places import At
from muniment.documents.shapes import (
    Anything,
    Choice,
    Entries,
    Flag,
    Items,
    Numeric,
    ObjectShape,
    Shaped,
    Text,
    Whole,
)
from muniment.encoding.canonical import JsonValue
from muniment_plugins.evals.views.fields import OPS
from muniment_plugins.evals.views.normaliser import NORMALISER
from muniment_plugins.evals.views.sealed import PRIVATE

__all__ = [
    "ASSERTIONS",
    "CALL",
    "CASE",
    "EFFECT",
    "FIXTURE",
    "LACKING",
    "MANIFEST",
    "OPTIONS",
    "PACK",
    "PACK_CASE",
    "QUESTION",
    "RUBRIC",
    "RUBRICS",
    "RUN_BELOW",
    "SEVERITIES",
    "STAGE",
    "THRESHOLDS",
]

SEVERITIES = ("blocking", "warning", "informational")
ASSERTIONS = (
    *("run-status", "stage-status", "visible-text-contains"),
    *("hitl-question-contains", "field"),
)
RUBRICS = (*("deterministic", "replay", "budget", "hitl", "side-effect", "llm-judge"),)
_DIGEST = Text(r"sha256:[0-9a-f]{64}", "sha256:…")
_NAME = Text(r"[^\s/][^\n/]{0,99}", "parser-1, without `/`")
_FREE = Entries(Anything())
_TEXTS = Items(Text(), unique=True)


class OrNull:
    """A digest, or null where the content was erased when the fixture was made."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse everything else."""
        if value is not None:
            _DIGEST.check(value, at)


class OrPrivate(OrNull):
    """The same, or ``private``, where the fixture does not say what it was."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse everything else."""
        if value != PRIVATE:
            super().check(value, at)


_DIGESTS = ObjectShape(
    optional={
        "artifacts": Items(OrPrivate()),
        "consumed": Items(OrPrivate()),
        "error": OrPrivate(),
        "verification": OrPrivate(),
        "definition": OrNull(),
        "function": OrNull(),
    }
)
CALL = ObjectShape(
    {"status": Choice(("waiting", "open", "done", "failed", "denied"))},
    {
        "tool": Text(),
        "code": Text(),
        "place": Text(),
        "arguments": OrPrivate(),
        "hidden": OrPrivate(),
    },
)
"""A call of a tool by a stage, or one that was denied."""
EFFECT = ObjectShape(
    {"kind": Text(), "status": Text()},
    {"request": OrPrivate()},
)
"""An effect of a stage beside tools: that of a handler, or a decision of people."""
QUESTION = ObjectShape(
    optional={
        "min_questions": Whole(0),
        "max_questions": Whole(0),
        "expected_question": Text(),
        "accepted_questions": _TEXTS,
        "required_terms": _TEXTS,
        "forbidden_terms": _TEXTS,
    }
)
"""What people have to be asked."""
STAGE = ObjectShape(
    {"node_id": Text()},
    {
        "id": Text(),
        "visit": Whole(1),
        "kind": Text(),
        "expected_status": Text(),
        "expected_outcome": Text(),
        "expected_branch": Text(),
        "expected_attempts": Whole(0),
        "required_artifact_kinds": _TEXTS,
        "visible_text_contains": Text(),
        "expected_calls": Items(CALL),
        "expected_effects": Items(EFFECT),
        "digests": _DIGESTS,
    },
)
"""What one visit of a node has to be."""
STAGE_BELOW = ObjectShape(
    STAGE.required,
    {key: one for key, one in STAGE.optional.items() if key != "visible_text_contains"},
)
"""The same in a run below, where no texts are looked for."""
OPTIONS = ObjectShape(
    optional={
        "ceiling": OrNull(),
        "approval_policy": OrNull(),
        "max_steps": Whole(0),
    }
)
"""What a run was held to."""
_WAY: Mapping[str, Shaped] = {
    "workflow_id": Text(),
    "expected_status": Text(),
    "graph": _DIGEST,
    "task": OrPrivate(),
    "published": Entries(OrPrivate()),
    "options": OPTIONS,
    "complete": Flag(),
}
RUN_BELOW = ObjectShape(
    {"call": Text()},
    {
        **_WAY,
        "stage_assertions": Items(STAGE_BELOW),
        "runs_below": Items(Entries(Anything())),
    },
)
"""What a run that was called has to be; runs below it have this shape again."""
_SOURCE = ObjectShape({"run": Text()}, {"head": _DIGEST})
FIXTURE = ObjectShape(
    {"_type": Choice(("replay_fixture",))},
    {
        **_WAY,
        "schema_version": Whole(1),
        "id": _NAME,
        "source_run_id": Text(),
        "workflow_name": Text(),
        "created_at": Text(),
        "eval_kind": Choice(("replay", "clarifying_question")),
        "clarifying_question": QUESTION,
        "stage_assertions": Items(STAGE),
        "runs_below": Items(Entries(Anything())),
        "normaliser": NORMALISER,
        "source": _SOURCE,
        "notes": Text(),
    },
)
"""What a run is held against; made of a run by `run_record_fixture`, or written by hand."""

CASE = ObjectShape(
    {},
    {
        "label": _NAME,
        "run": Text(),
        "run_path": Text(),
        "fixture_path": Text(),
        "compare_to": Text(),
    },
)
MANIFEST = ObjectShape(
    {"cases": Items(CASE, least=1)},
    {
        "_type": Choice(("eval_suite_manifest",)),
        "id": _NAME,
        "name": Text(),
        "base_dir": Text(),
        "normaliser": NORMALISER,
    },
)
"""The suite of the chapter."""

_LIMITS: Mapping[str, Shaped] = {
    "max_cost_usd": Numeric(0),
    "max_latency_ms": Numeric(0),
    "max_tokens": Whole(0),
    "max_stage_count": Whole(0),
}
THRESHOLDS = ObjectShape(
    optional={
        "severity": Choice(SEVERITIES),
        "min_score": Numeric(0, 1),
        "min_confidence": Numeric(0, 1),
        **_LIMITS,
    }
)
_JUDGE = ObjectShape(
    optional={
        "provider": Text(),
        "model": Text(),
        "temperature": Numeric(0, 2),
        "max_tokens": Whole(1),
        "system": Text(),
    }
)
_ASSERTION = ObjectShape(
    {"kind": Choice(ASSERTIONS)},
    {
        "stage": Text(),
        "path": Text(),
        "op": Choice(OPS),
        "expected": Anything(),
        "contains": Text(),
    },
)
_CALIBRATION = ObjectShape(
    {"text": Text(), "pass": Flag()},
    {"task": Text(), "notes": Text()},
)
RUBRIC = ObjectShape(
    {"id": _NAME},
    {
        "kind": Choice(RUBRICS),
        "description": Text(),
        "prompt": Text(),
        "stage": Text(),
        "assertions": Items(_ASSERTION),
        "judge": _JUDGE,
        "calibration": Items(_CALIBRATION),
        "thresholds": THRESHOLDS,
    },
)
_FIXTURE_ROW = ObjectShape(
    {"id": _NAME},
    {
        "kind": Choice(("replay", "clarifying_question")),
        "path": Text(),
        "inline": _FREE,
        "metadata": _FREE,
    },
)
PACK_CASE = ObjectShape(
    {"id": _NAME},
    {
        "name": Text(),
        "run": Text(),
        "run_path": Text(),
        "fixture": Text(),
        "fixture_path": Text(),
        "compare_to": Text(),
        "rubrics": _TEXTS,
        "severity": Choice(SEVERITIES),
        "thresholds": THRESHOLDS,
        "metadata": _FREE,
    },
)
_PACKAGE = ObjectShape(
    optional={
        "name": Text(),
        "version": Text(),
        "source": Text(),
        "templates": _TEXTS,
    }
)
_DEFAULTS = ObjectShape(
    optional={
        "severity": Choice(SEVERITIES),
        "fixture_root": Text(),
        "thresholds": THRESHOLDS,
        "judge": _JUDGE,
    }
)
PACK = ObjectShape(
    {"version": Choice(("1",)), "cases": Items(PACK_CASE, least=1)},
    {
        "id": _NAME,
        "name": Text(),
        "description": Text(),
        "base_dir": Text(),
        "baseline": Text(),
        "package": _PACKAGE,
        "defaults": _DEFAULTS,
        "fixtures": Items(_FIXTURE_ROW),
        "rubrics": Items(RUBRIC),
        "judge": _JUDGE,
        "normaliser": NORMALISER,
        "metadata": _FREE,
    },
)
"""A pack of evals, version 1."""

LACKING: Mapping[str, str] = {
    "friction_events": 'no run has them; assert fields of the record: kind = "field"',
    "trace_id": "name the run: events of triggers are no fixtures here",
    "provider": "name the run: events of triggers are no fixtures here",
    "event_kind": "name the run: events of triggers are no fixtures here",
}
"""Keys of cases and fixtures of the format that nothing here could hold a run to."""

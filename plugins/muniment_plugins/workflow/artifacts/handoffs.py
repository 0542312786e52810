"""Handoffs: what one persona passes to another, or to a human, as data of an artifact.

    {"source_persona": "planner", "task": "Apply the patch", "reason": "It needs a human",
     "target_persona_or_human": {"kind": "human", "label": "Ada"}, "confidence": 0.8}

Rules: who, to whom, what and why are required; lists that are empty are left out; times
are RFC 3339 in UTC; the confidence is a number from 0 to 1.
"""

from __future__ import annotations

from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import (
    Choice,
    Items,
    Numeric,
    ObjectShape,
    Shaped,
    Text,
    Whole,
)
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.plain_json import plain_object
from muniment_plugins.workflow.artifacts.stamps import in_utc

__all__ = ["HANDOFF_DATA", "handoff_data"]

_TARGET = ObjectShape(
    {"kind": Choice(("human", "persona"))}, {"id": Text(), "label": Text()}
)
_LISTS = (
    "evidence_refs",
    "files_or_entities_touched",
    "open_questions",
    "blocked_on",
    "requested_capabilities",
    "allowed_side_effects",
)
_BUDGET: dict[str, Shaped] = {
    "tokens": Whole(),
    "tool_calls": Whole(),
    "dollars": Numeric(),
}
_TIMES = ("deadline", "checkback_at")
HANDOFF_DATA = ObjectShape(
    {
        "source_persona": Text(),
        "target_persona_or_human": _TARGET,
        "task": Text(),
        "reason": Text(),
    },
    {
        "_type": Choice(("handoff_artifact",)),
        **{name: Items(Text()) for name in _LISTS},
        "budget_remaining": ObjectShape({}, _BUDGET),
        "deadline_checkback": ObjectShape({}, {name: Text() for name in _TIMES}),
        "confidence": Numeric(0, 1),
        "receipt_links": Items(
            ObjectShape(
                {"kind": Choice(("run_receipt",)), "run_id": Text()},
                {"path": Text(), "digest": Text()},
            )
        ),
        "parent_run_id": Text(),
    },
)
"""The keys of a handoff."""


def handoff_data(raw: object, at: At) -> dict[str, JsonValue]:
    """Return the handoff *raw* in its normal form.

    Raises:
        UsageError: something is missing, or is not what a handoff says; with its place.

    """
    said = plain_object(raw, at)
    HANDOFF_DATA.check(said, at)
    said.pop("_type", None)
    times = said.get("deadline_checkback")
    if times is not None:
        said["deadline_checkback"] = _utc(
            cast("dict[str, str | None]", times), at.key("deadline_checkback")
        )
    bare = {name: _without_nulls(value) for name, value in said.items()}
    return {name: value for name, value in bare.items() if value not in ([], {})}


def _utc(times: dict[str, str | None], at: At) -> dict[str, JsonValue]:
    return {
        name: in_utc(text, at.key(name))
        for name, text in times.items()
        if text is not None
    }


def _without_nulls(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    return value

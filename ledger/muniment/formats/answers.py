"""How an event of a fork names the event of its origin that answered it.

    "answered_by": {"who": "record", "run": "01JC…", "seq": 9, "leaf": "9f86…"}

Rule: these four members, and no other. Only outcomes of effects and readings of the clock
have them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from muniment.errors import UsageError

__all__ = [
    "CLOCK",
    "FROM_RECORDS",
    "PERFORMED",
    "is_answer",
    "is_leaf",
    "names_record",
    "refuse_answer",
    "shaped",
]

CLOCK = "clock.read"
"""The only fact that a record answers."""

FROM_RECORDS = ("record", "change")
"""Who answers by a record: the record, or a value that the fork declares instead."""

PERFORMED = ("performer", "plugin")
"""Who else answers in a fork: what performed the effect, or a plugin."""

_MEMBERS = {"who": str, "run": str, "seq": int, "leaf": str}
_LEAF = re.compile("[0-9a-f]{64}")


def names_record(by: object) -> bool:
    """Tell whether *by* claims that an event of a run answered, in whatever form."""
    told = cast("Mapping[str, Any]", by)
    return isinstance(by, dict) and (
        told.get("who") in FROM_RECORDS and told.keys() >= _MEMBERS.keys()
    )


def refuse_answer(kind: str, data: Mapping[str, object]) -> None:
    """Refuse a fact that claims it: readers would take it for an answer.

    Raises:
        UsageError: its ``answered_by`` has the members of an answer.

    """
    if names_record(data.get("answered_by")):
        raise UsageError(
            f"{kind} is a fact, and no record answers facts",
            rule="event/reserved",
            place="answered_by",
            remedy="give the field or its members other names",
        )


def is_answer(by: object) -> bool:
    """Tell whether *by* says so exactly as it has to."""
    told = cast("Mapping[str, Any]", by)
    return (
        shaped(by, _MEMBERS) and told["who"] in FROM_RECORDS and is_leaf(told["leaf"])
    )


def shaped(value: object, members: Mapping[str, type]) -> bool:
    """Tell whether *value* is an object of exactly these *members*, of these types."""
    told = cast("Mapping[str, Any]", value)
    return (
        type(value) is dict
        and told.keys() == members.keys()
        and all(type(told[name]) is kind for name, kind in members.items())
    )


def is_leaf(text: str) -> bool:
    """Tell whether *text* is a leaf hash."""
    return _LEAF.fullmatch(text) is not None

"""The shape of an artifact as an object, and of what callers add to one that is made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import (
    Anything,
    Choice,
    Entries,
    Items,
    Numeric,
    ObjectShape,
    Shaped,
    Text,
    Whole,
)
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.kinds import (
    FRESHNESS,
    KIND_EXAMPLE,
    KIND_FORM,
)

__all__ = [
    "ARTIFACT",
    "EXTRA",
    "ID",
    "KIND",
    "PATHS",
    "PATH_KEYS",
    "FreeText",
    "IdList",
]


@dataclass(frozen=True, slots=True)
class FreeText:
    """A text of any length, which may be empty: a file's content, an output."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse what is no text."""
        if not isinstance(value, str):
            Text().check(value, at)


@dataclass(frozen=True, slots=True)
class IdList:
    """A list of ids. A lineage may be long, so places are made for mistakes alone."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse another type, and items that are no ids."""
        sound = isinstance(value, list) and all(
            isinstance(one, str) and _IS_ID(one) for one in value
        )
        if not sound or len(cast("list[str]", value)) > _LONGEST:
            Items(ID).check(value, at)


_ID_FORM = r"[^\s\x00-\x1f\x7f]{1,256}"
_IS_ID = re.compile(_ID_FORM).fullmatch
_LONGEST = 10_000
"""What `Items` allows."""
ID = Text(_ID_FORM, "artifact_1: no spaces, at most 256 characters")
_COMMON: dict[str, Shaped] = {
    "id": ID,
    "title": FreeText(),
    "text": FreeText(),
    "data": Anything(),
    "source": FreeText(),
    "created_at": Text(),
    "freshness": Choice(FRESHNESS),
    "priority": Whole(),
    "lineage": IdList(),
    "relevance": Numeric(),
    "estimated_tokens": Whole(),
    "stage": Text(),
    "metadata": Entries(Anything()),
}
KIND = Text(KIND_FORM, KIND_EXAMPLE)

ARTIFACT = ObjectShape({}, {"_type": Choice(("artifact",)), "kind": KIND, **_COMMON})
"""The keys of an artifact."""
EXTRA = ObjectShape({}, _COMMON)
"""What may be added where the kind is given otherwise."""

PATH_KEYS = ("changed_paths", "evidence_paths")
PATHS = ObjectShape({}, {key: Items(Text()) for key in PATH_KEYS})
"""The members of ``metadata`` that a selection reads."""

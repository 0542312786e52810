"""The contents of a record: read when it is viewed, or marked as erased.

    {"text": "Fix the parser.", "data": {"$erased": "sha256:…"}}

Rules:

- What the ledger no longer has is ``{"$erased": "sha256:…"}``, with its commitment.
- What is private is not there, unless it is asked for.
- A content that contradicts its commitment is refused: that is no view of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import JsonValue, parse
from muniment.errors import ErasedError
from muniment.formats.statement import BlobRef
from muniment_plugins.workflow.records.rows import (
    HIDDEN,
    Row,
    is_reference,
    plainly_said,
)

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["ERASED", "Contents", "is_erased"]

ERASED = "$erased"


def is_erased(value: object) -> bool:
    """Tell whether *value* stands for a content that was erased."""
    return isinstance(value, Mapping) and ERASED in cast("Mapping[str, object]", value)


class Contents:
    """Reads contents out of one ledger, each once."""

    def __init__(self, ledger: Ledger, *, private: bool = False) -> None:
        self._ledger, self._private = ledger, private
        self._read: dict[str, Any] = {}
        self.erased: dict[str, None] = {}
        """The commitments of what is gone."""

    def of(self, value: JsonValue) -> Any:
        """Return what an event says as *value*, its content if that is kept apart.

        It is None if that is private, and nobody asked for it.
        """
        if isinstance(value, dict) and is_reference(value.get(HIDDEN)):
            if not self._private:
                return None
            value = value[HIDDEN]
        if not isinstance(value, dict) or "$blob" not in value:
            return plainly_said(value)
        ref = BlobRef.from_json(value)
        if ref.digest not in self._read:
            self._read[ref.digest] = self._content(ref)
        return self._read[ref.digest]

    def _content(self, ref: BlobRef) -> Any:
        try:
            return plainly_said(parse(self._ledger.get_blob(ref)))
        except ErasedError:
            self.erased[ref.digest] = None
            return {ERASED: ref.digest}

    def of_all(self, row: Row) -> Row:
        """Return *row* with the contents of its members, without what is private."""
        found = {name: self.of(value) for name, value in row.items()}
        return {
            name: one
            for name, one in found.items()
            if one is not None or row[name] is None
        }

    def listed(self, value: JsonValue) -> list[str]:
        """Return a list of texts that an event says; empty if it was erased."""
        found = self.of(value)
        said = cast("list[object]", found) if isinstance(found, list) else []
        return [one for one in said if isinstance(one, str)]

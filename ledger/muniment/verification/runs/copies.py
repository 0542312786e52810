"""Whether one event says what another one says: an answer in a fork, and its origin's.

Rules:

- Members of the data are compared one by one, whichever they are: references by their
  content, which is behind another salt here and there, all others by their spelling.
- Subjects and series are compared, too, but for the subjects of references and of data.
- Contents that are gone are not compared, and count as erased.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Self, cast

from muniment.encoding.canonical import canonical
from muniment.verification.runs.references import content
from muniment.verification.snapshot import Snapshot

__all__ = ["Copies", "EventCopy"]

_CHAIN = ("tenant", "version")


@dataclass(frozen=True, slots=True)
class EventCopy:
    """One event of a run, as far as it can answer or be answered."""

    seq: int
    kind: str
    leaf: str
    data: dict[str, Any]
    chain: dict[str, Any]
    subject: list[Any]

    @classmethod
    def of(cls, seq: int, kind: str, leaf: str, statement: Any) -> Self:
        """Return the event of a *statement*."""
        predicate = statement["predicate"]
        subject = statement["subject"]
        return cls(seq, kind, leaf, predicate["data"], predicate["muniment"], subject)

    @property
    def place(self) -> tuple[str, int]:
        """Its scope and ordinal."""
        return self.chain["scope"], self.chain["ordinal"]

    @property
    def told(self) -> list[tuple[str, str]]:
        """The subjects that it names beside those of its own data."""
        data = self.data.values()
        own = {
            cast("dict[str, Any]", one)["$blob"] for one in data if _is_reference(one)
        }
        named = [(one["name"], one["digest"]["sha256"]) for one in self.subject]
        return [
            one
            for one in named
            if one[0] != "data.json" and f"sha256:{one[1]}" not in own
        ]


class Copies:
    """Compares events with those that they are copies of."""

    __slots__ = ("_snapshot", "erased")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.erased = 0
        """How many contents could not be compared, since they are gone."""

    def differs(
        self, one: EventCopy, other: EventCopy, but: Container[str] = ()
    ) -> str:
        """Name what *one* says otherwise than *other*, "" for nothing.

        Members of the data in *but* are not compared.
        """
        if found := self.beside(one, other):
            return found
        for name in sorted(one.data.keys() | other.data.keys()):
            if name not in but and not self.equal(one.data, other.data, name):
                return f"data.{name}"
        return ""

    @staticmethod
    def beside(one: EventCopy, other: EventCopy) -> str:
        """Name what *one* says otherwise beside its data, "" for nothing."""
        for name in _CHAIN:
            if one.chain.get(name) != other.chain.get(name):
                return name
        if one.told != other.told:
            return "subject"
        if one.chain.get("series", {}).keys() != other.chain.get("series", {}).keys():
            return "series"
        return ""

    def equal(self, one: dict[str, Any], other: dict[str, Any], name: str) -> bool:
        """Tell whether both have the same member *name*; so they do, if one is gone."""
        if name not in one or name not in other:
            return (name in one) == (name in other)
        both = one[name], other[name]
        if all(map(_is_reference, both)):
            sizes = [(each.get("size"), each.get("media")) for each in both]
            if sizes[0] != sizes[1]:
                return False
        first, second = map(self._spelled, both)
        if first is None or second is None:
            self.erased += 1
            return True
        return first == second

    def digest(self, data: dict[str, Any], name: str) -> bytes | None:
        """Return the SHA-256 of the content of a member; None if it is gone."""
        spelled = self._spelled(data.get(name))
        return None if spelled is None else hashlib.sha256(spelled).digest()

    def said(self, event: EventCopy) -> tuple[bytes | None, bytes]:
        """Return two digests: of all that *event* says, and of that without contents.

        Equal for two events of one scope and type of which neither `differs`. Where a
        content is gone, the first is None.
        """
        outline: dict[str, Any] = {}
        whole, gone = hashlib.sha256(), False
        for name, value in sorted(event.data.items()):
            if not _is_reference(value):
                outline[name] = [value]
                continue
            outline[name] = {"size": value.get("size"), "media": value.get("media", "")}
            spelled = self._spelled(value)
            gone |= spelled is None
            whole.update(hashlib.sha256(spelled or b"").digest())
        beside = [event.kind, event.place[0], *map(event.chain.get, _CHAIN)]
        series = sorted(event.chain.get("series", {}))
        told = [list(one) for one in event.told]
        parts: list[Any] = [beside, outline, told, series]
        line = hashlib.sha256(canonical(parts)).digest()
        whole.update(line)
        return None if gone else whole.digest(), line

    def _spelled(self, value: Any) -> bytes | None:
        if _is_reference(value):
            return content(self._snapshot, value)
        return canonical(value)


def _is_reference(value: Any) -> bool:
    return isinstance(value, dict) and "$blob" in value

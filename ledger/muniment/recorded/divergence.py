"""Differences that a replay found, in words that people can act on.

fact in scope "map/3" at event 41: claim.text was "…", is "…"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import ReplayDiverged
from muniment.events.visibility import PRIVATE, VISIBILITY, is_private

if TYPE_CHECKING:
    from muniment.formats.statement import Event

__all__ = ["Divergence", "discreet", "member_of", "several"]

_SHOWN = 120
_KEPT = 20
"""How much of the common part of two long texts is shown before they differ."""
_TELLS = ("fact", "effect", "outcome", "result", "params")
"""The divergences that have contents of the event."""
_PUBLIC = (VISIBILITY, "type", "status", "error_type")
"""The fields that no private content is in."""
_WITHHELD = "(private)"
_NAMED = 5
"""How many differences one error names."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A place where a program differs from the record of its run."""

    what: str
    """``fact``, ``effect``, ``outcome``, ``type``, ``extra``, ``missing``, ``result``,
    ``order``, ``guard``, ``params``, ``program`` or ``unrecorded``."""
    scope: str
    seq: int | None
    """The recorded event that was expected; None where the record has nothing."""
    field: str
    expected: JsonValue
    got: JsonValue
    after: int = 0
    """The recorded event that an unrecorded one followed; 0 for the record's start."""
    run: str = ""
    """The child run whose record it is in; empty for the run itself."""

    @property
    def position(self) -> int:
        """Its place in the record."""
        return self.after if self.seq is None else self.seq

    @classmethod
    def missing(cls, scope: str, seq: int, kind: str) -> Divergence:
        """Return the divergence of a program that never reached the event *seq*."""
        return cls("missing", scope, seq, "type", kind, None)

    def __str__(self) -> str:
        """Return one line."""
        where = f" in run {self.run}" if self.run else ""
        where += f' in scope "{self.scope}"' if self.scope else ""
        at = "" if self.seq is None else f" at event {self.seq}"
        return f"{self.what}{where}{at}: {self.difference}"

    @property
    def warns(self) -> bool:
        """Whether it is only a warning: nothing that was compared differs.

        The order differs, the program is another, or it did something unrecorded.
        """
        return self.what in ("order", "program", "unrecorded")

    @property
    def difference(self) -> str:
        """The old and the new value, shortened to where they differ."""
        if self.what == "unrecorded":
            return self.field
        was, now = self.window
        return f"{self.field} was {_short(was)}, is {_short(now)}"

    @property
    def window(self) -> tuple[JsonValue, JsonValue]:
        """The old and the new value; of long texts the part around their difference."""
        return _parted(self.expected, self.got)

    def shown(self, *events: Event, private: bool = False) -> Divergence:
        """Return it without its values, if they are private contents of *events*.

        So it is returned if the program keeps *private* what it has there. It names the
        member, and no place in it, since the keys of a private value are private, too.
        """
        if self.what not in _TELLS or self.field in _PUBLIC:
            return self
        member = member_of(self.field)
        if not (member == PRIVATE or private or any(map(is_private, events))):
            return self
        return replace(self, field=member, expected=_WITHHELD, got=_WITHHELD)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the divergence as plain JSON."""
        return {
            "what": self.what,
            "scope": self.scope,
            "seq": self.seq,
            "field": self.field,
            "expected": self.expected,
            "got": self.got,
            **({"run": self.run} if self.run else {}),
        }

    @classmethod
    def from_json(cls, value: dict[str, JsonValue]) -> Divergence:
        """Read back what `to_json` wrote."""
        return cls(
            cast("str", value["what"]),
            cast("str", value["scope"]),
            cast("int | None", value["seq"]),
            cast("str", value["field"]),
            value["expected"],
            value["got"],
        )

    def error(self, run: str) -> ReplayDiverged:
        """Return the exception that stops the program here."""
        return ReplayDiverged(
            str(self),
            rule=f"replay/{self.what}",
            seq=self.seq,
            place=f"run {run}",
            remedy=f"`muniment runs show {run}` prints what was recorded",
        )


def member_of(path: str) -> str:
    """Return the member of an event that a *path* such as ``request.a[2]`` is in."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def discreet(
    found: Iterable[Divergence], event: Callable[[int], Event]
) -> tuple[Divergence, ...]:
    """Return what was *found*, without the values of events that say they are private.

    *event* returns that of a number.
    """
    return tuple(
        one if one.seq is None or one.what not in _TELLS else one.shown(event(one.seq))
        for one in found
    )


def several(found: list[Divergence], run: str) -> ReplayDiverged:
    """Return the exception that names the differences *found* at one place."""
    error = found[0].error(run)
    others = [one.difference for one in found[1:_NAMED]]
    left = len(found) - _NAMED
    error.message = "; ".join([error.message, *others])
    error.message += f"; and {left} more" if left > 0 else ""
    return error


def _parted(was: JsonValue, now: JsonValue) -> tuple[JsonValue, JsonValue]:
    """Return two values; of long texts the differing part and a little before it."""
    if not isinstance(was, str) or not isinstance(now, str):
        return was, now
    parts = (
        at for at, pair in enumerate(zip(was, now, strict=False)) if len({*pair}) > 1
    )
    parted = next(parts, min(len(was), len(now)))
    same = max(0, parted - _KEPT)
    while len(repr(was[same:parted])) > 2 * _KEPT:  # some characters take ten
        same += 1
    if same == 0 or max(len(repr(was)), len(repr(now))) <= _SHOWN:
        return was, now
    return f"…{was[same:]}", f"…{now[same:]}"


def _short(value: JsonValue) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

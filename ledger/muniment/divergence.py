"""What a replay found to be different, in words that can be acted on.

fact in scope "map/3" at event 41: claim.text was "…", is "…"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from muniment.canonical import JsonValue
from muniment.errors import ReplayDiverged

__all__ = ["Divergence", "several"]

_SHOWN = 120
_KEPT = 20
"""How much of what two long texts have in common is shown before they part."""
_NAMED = 5
"""How many differences one error names."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where a program and the record of its run part."""

    what: str
    """``fact``, ``effect``, ``outcome``, ``type``, ``extra``, ``missing``, ``result``,
    ``order``, ``guard``, ``params`` or ``unrecorded``."""
    scope: str
    seq: int | None
    """The recorded event that was expected; None where the record has nothing."""
    field: str
    expected: JsonValue
    got: JsonValue

    @classmethod
    def missing(cls, scope: str, seq: int, kind: str) -> Divergence:
        """Return that the program never came to the recorded event *seq*."""
        return cls("missing", scope, seq, "type", kind, None)

    def __str__(self) -> str:
        """One line."""
        where = f' in scope "{self.scope}"' if self.scope else ""
        at = "" if self.seq is None else f" at event {self.seq}"
        return f"{self.what}{where}{at}: {self.difference}"

    @property
    def warns(self) -> bool:
        """Whether it is no difference: another order, or what no record could hold."""
        return self.what in ("order", "unrecorded")

    @property
    def difference(self) -> str:
        """What was, and what is, shortened to where they part."""
        if self.what == "unrecorded":
            return self.field
        was, now = self.window
        return f"{self.field} was {_short(was)}, is {_short(now)}"

    @property
    def window(self) -> tuple[JsonValue, JsonValue]:
        """What was, and what is; of long texts what stands around their first difference."""
        return _parted(self.expected, self.got)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the divergence as plain JSON."""
        return {
            "what": self.what,
            "scope": self.scope,
            "seq": self.seq,
            "field": self.field,
            "expected": self.expected,
            "got": self.got,
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


def several(found: list[Divergence], run: str) -> ReplayDiverged:
    """Return the exception that names what is *found*, all of it at one place."""
    error = found[0].error(run)
    others = [one.difference for one in found[1:_NAMED]]
    left = len(found) - _NAMED
    error.message = "; ".join([error.message, *others])
    error.message += f"; and {left} more" if left > 0 else ""
    return error


def _parted(was: JsonValue, now: JsonValue) -> tuple[JsonValue, JsonValue]:
    """Return two values, of long texts what differs and a little before it."""
    if not isinstance(was, str) or not isinstance(now, str):
        return was, now
    parts = (
        at for at, pair in enumerate(zip(was, now, strict=False)) if len({*pair}) > 1
    )
    same = next(parts, min(len(was), len(now))) - _KEPT
    if same <= 0 or max(len(was), len(now)) <= _SHOWN - 2:
        return was, now
    return f"…{was[same:]}", f"…{now[same:]}"


def _short(value: JsonValue) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

"""Effects that a resume cannot answer, though they were asked for before.

    run.resume(…, decide=ask, repeat=["tool"])
    human.requested  "doubt": {"of": "outcome", "decision": "repeat", "by": "asked",
                               "asked": "muniment:terminal/1"}

Rules:

- An effect is in doubt if its outcome is unknown, or held a secret, which is in no
  record.
- An effect whose kind says ``repeat`` is performed again, and nobody is asked. If the
  kind says ``ask``, the person who resumes is asked; if nobody can be asked, it is
  refused. If the kind says ``refuse``, nobody is asked: it is performed again only if
  the kind was named.
- The record says what was decided and by whom: in the further request if the effect is
  performed again, otherwise in the end of the interrupted run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

from muniment.errors import EffectInDoubt
from muniment.programs.references import path_of, refer

if TYPE_CHECKING:
    from muniment.events.effect_kinds import EffectKind

__all__ = ["Decide", "Doubts", "in_doubt"]

Decide: TypeAlias = "Callable[[str, object], str]"
"""Says ``repeat`` or ``refuse`` for an effect in doubt, given its kind and request."""

_MOST = 100


@dataclass(frozen=True, slots=True)
class Doubts:
    """How one resume deals with effects in doubt."""

    decide: Decide | None = None
    repeat: frozenset[str] = frozenset()
    """The kinds to perform again, whatever they say."""

    @classmethod
    def of(cls, decide: Decide | None, repeat: Iterable[str]) -> Self:
        """Return them, given who is asked and which kinds were named."""
        return cls(decide, frozenset([repeat] if isinstance(repeat, str) else repeat))

    def settle(self, kind: EffectKind, request: object, of: str) -> dict[str, str]:
        """Return what is decided about a doubt *of* the ``outcome`` or of a ``secret``.

        An answer that is neither ``repeat`` nor ``refuse`` refuses, and is kept as *said*.
        """
        says = kind.in_doubt(request)
        if says == "repeat":
            return {"of": of, "decision": "repeat", "by": "kind"}
        if kind.name in self.repeat:
            return {"of": of, "decision": "repeat", "by": "named"}
        if says == "refuse":
            return {"of": of, "decision": "refuse", "by": "kind"}
        if self.decide is None:
            return {"of": of, "decision": "refuse", "by": "nobody"}
        answer: object = self.decide(kind.name, request)
        told = {"by": "asked", "asked": path_of(refer(self.decide))}
        if answer in ("repeat", "refuse"):
            return {"of": of, "decision": str(answer), **told}
        return {"of": of, "decision": "refuse", **told, "said": repr(answer)[:_MOST]}


def in_doubt(kind: EffectKind, place: str, doubt: dict[str, str]) -> EffectInDoubt:
    """Return the refusal of an effect of *kind*, and what was decided."""
    how = f"`--repeat-doubtful {kind.name}`, in Python repeat=[{kind.name!r}],"
    if doubt["by"] == "nobody":
        how = f"an answer on a terminal, in Python that of decide=, or {how}"
    if doubt["of"] == "secret":
        error = EffectInDoubt(
            f"the {kind.name} effect answered a secret, which is in no record; "
            f"{_said(kind, doubt)}",
            rule="effect/secret",
            place=place,
            remedy=f"{how} performs it again, where that does no harm; or record a new "
            "run",
        )
    else:
        error = EffectInDoubt(
            f"a {kind.name} effect was requested and its outcome is unknown; "
            f"{_said(kind, doubt)}",
            rule="effect/doubt",
            place=place,
            remedy=f"find out whether it happened; {how} performs it again",
        )
    error.doubt = doubt
    return error


def _said(kind: EffectKind, doubt: dict[str, str]) -> str:
    if "said" in doubt:
        return f"whoever was asked said {doubt['said']}, neither 'repeat' nor 'refuse'"
    if doubt["by"] == "asked":
        return "whoever was asked refused it"
    nobody = ", and nobody was there to be asked" if doubt["by"] == "nobody" else ""
    return f"its kind says {kind.on_doubt}{nobody}"

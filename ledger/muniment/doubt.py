"""Effects that a resume cannot answer, though they were asked for before.

Rules: where the outcome is unknown, or held a secret, which is in no record, the effect's
kind says whether to perform it again (``on_doubt``), else whoever resumes does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from muniment.errors import RefusedError

if TYPE_CHECKING:
    from muniment.kinds import EffectKind

__all__ = ["DOUBTS", "Refusal", "answered_secret", "outcome_unknown"]

DOUBTS = frozenset({"effect/doubt", "effect/secret"})
"""The rules of these refusals: they interrupt a run, and whoever resumes decides."""

Refusal: TypeAlias = "Callable[[EffectKind, str], RefusedError]"
"""Says of a kind, and of a place in the record, why it is not answered."""


def outcome_unknown(kind: EffectKind, place: str) -> RefusedError:
    """Return the refusal of a request that has no outcome."""
    return RefusedError(
        f"a {kind.name} effect was requested and its outcome is unknown; "
        f"its kind says {kind.on_doubt}",
        rule="effect/doubt",
        place=place,
        remedy="find out whether it happened; `--repeat-doubtful` performs it again",
    )


def answered_secret(kind: EffectKind, place: str) -> RefusedError:
    """Return the refusal of an answer that held a secret."""
    return RefusedError(
        f"the {kind.name} effect answered a secret, which is in no record; "
        f"its kind says {kind.on_doubt}",
        rule="effect/secret",
        place=place,
        remedy="`--repeat-doubtful` performs it again, where that does no harm; or "
        "record a new run",
    )

"""Which differences are acceptable, and to whom.

Each difference has a *weight*: the number of the first acceptability that accepts it.

    0   a warning: nothing that was compared differs
    1   invariant_preserving     contents differ; what happened, in which order, does not
    2   statistically_bounded    what happened differs, and what is measured is within the
                                 envelope
    3   nobody                   plan, parameters, policy, environment, dataset, status,
                                 decisions; what is outside the envelope; an attempt

Rules:

- A weight does not depend on acceptability or mode, so whatever ``exact_match`` accepts
  the next ones accept, too.
- Artifacts and evidence are contents: more or fewer of them change no structure.
- Of what only came in another order, each part is still there: whatever it is about, it
  weighs what another order weighs.
- That claims were lost, or contradictions came, is weighed by the envelope, and is never
  mere content. So is a metric, which is compared as a number: ``1`` and ``1.0`` are not
  recorded equally, and are 0 apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment_plugins.governance.documents.words import (
    ACCEPTABILITIES,
    Acceptability,
)
from muniment_plugins.governance.judgement.metrics import number_of

if TYPE_CHECKING:
    from muniment_plugins.governance.judgement.differences import JudgedDifference
    from muniment_plugins.governance.judgement.terms import Terms

__all__ = ["NOBODY", "accepted_by", "blocks", "weight"]

_CONTENT, _MEASURED, NOBODY = 1, 2, len(ACCEPTABILITIES)
_FIXED = frozenset(
    {"dataset", "environment", "isolation", "params", "plan", "policy", "status"}
)
"""What no acceptability lets differ."""
_DECIDES = ("status", "target")
"""The fields of an arbitration that are the decision."""


def weight(one: JudgedDifference, terms: Terms) -> int:
    """Return the number of the first acceptability that accepts the difference."""
    if one.warns:
        return 0
    own = None if one.what == "order" else _OWN.get(one.about)
    found = None if own is None else own(one, terms)
    if found is None:
        return _MEASURED if one.structural else _CONTENT
    return found


def blocks(one: JudgedDifference, terms: Terms) -> bool:
    """Tell whether the difference rejects the observed run under *terms*."""
    if terms.mode == "observational":
        return False
    least = 0 if terms.mode == "strict" else ACCEPTABILITIES.index(terms.acceptability)
    return weight(one, terms) > least


def accepted_by(weights: list[int]) -> Acceptability | None:
    """Return the first acceptability that accepts them all; None if there is none."""
    heaviest = max(weights, default=0)
    return None if heaviest == NOBODY else ACCEPTABILITIES[heaviest]


def _fixed(one: JudgedDifference, terms: Terms) -> int:  # noqa: ARG001 - as the others
    return NOBODY


def _free(one: JudgedDifference, terms: Terms) -> int | None:  # noqa: ARG001
    return _CONTENT if one.what in ("missing", "extra") else None


def _claims(one: JudgedDifference, terms: Terms) -> int | None:
    if one.what != "measure":
        return None
    share = one.got if isinstance(one.got, float) else 0.0
    return _MEASURED if share >= terms.min_claim_overlap else NOBODY


def _contradictions(one: JudgedDifference, terms: Terms) -> int:
    delta = _number(one.got) - _number(one.expected)
    if delta <= 0:
        return _CONTENT
    return _MEASURED if delta <= terms.max_contradiction_delta else NOBODY


def _decisions(one: JudgedDifference, terms: Terms) -> int | None:  # noqa: ARG001
    return NOBODY if one.structural or one.field in _DECIDES else None


def _metrics(one: JudgedDifference, terms: Terms) -> int | None:
    is_metric = one.structural or one.field.startswith("metrics")
    return _metric(one, terms) if is_metric else None


def _metric(one: JudgedDifference, terms: Terms) -> int:
    was, now = _measured(one.expected), _measured(one.got)
    if one.structural or was is None or now is None:
        return NOBODY
    allowed = terms.metric_tolerances.get(_metric_name(one.field), 0.0)
    return _MEASURED if _apart(was, now) <= allowed else NOBODY


def _metric_name(path: str) -> str:
    """Return the metric at *path*: ``metrics.total``, or an element of its list."""
    return path.removeprefix("metrics.").partition("[")[0]


def _measured(value: JsonValue) -> float | None:
    """Return the number that is recorded as *value*; None if it is another value."""
    number = number_of(value) if isinstance(value, dict) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    return number


def _apart(one: float, other: float) -> float:
    try:
        return abs(other - one)
    except OverflowError:  # an integer beyond all floats, and a float
        return math.inf


def _number(value: JsonValue) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


_OWN: dict[str, Callable[[JudgedDifference, Terms], int | None]] = {
    **dict.fromkeys(_FIXED, _fixed),
    "arbitration": _decisions,
    "artifact": _free,
    "claim": _claims,
    "contradiction": _contradictions,
    "evidence": _free,
    "metric": _metrics,
}
"""What a difference is about → its weight; None if it weighs as any other does."""

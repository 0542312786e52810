"""Intents: uncertainty that is declared, with a justification, before it is used.

Rules:

- An intent is found for an effect by its kind first: a model call is ``llm``, retrieval
  is ``retrieval``, a person is ``human``. A kind without an intent of its own is found by
  its source.
- What is performed again in a replay, and compared, needs no intent: nothing is uncertain
  about it. Neither do timers, and calls of runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment import EffectKind
from muniment_plugins.governance.budgets.spending import UNCOUNTED
from muniment_plugins.governance.documents.budgets import Intent
from muniment_plugins.governance.documents.words import IntentSource

__all__ = ["declared", "intent_of"]

_BY_KIND: dict[str, IntentSource] = {
    "llm": "llm",
    "retrieval": "retrieval",
    "data": "retrieval",
    "human": "human",
}
_BY_SOURCE: dict[str, IntentSource] = {
    "seeded_rng": "llm",
    "data": "retrieval",
    "human_input": "human",
    "external_oracle": "external",
}


def intent_of(kind: EffectKind) -> tuple[IntentSource, IntentSource]:
    """Return the sources by which an intent covers *kind*: by its kind, by its source."""
    by_source = _BY_SOURCE[kind.source]
    return _BY_KIND.get(kind.name, by_source), by_source


def declared(kind: EffectKind, intents: Iterable[Intent]) -> str | None:
    """Say why no intent covers an effect of *kind*; None if one does."""
    if kind.reproducible or kind.name in UNCOUNTED:
        return None
    listed = list(intents)
    for source in intent_of(kind):
        found = [one for one in listed if one.source == source]
        if found:
            if any(one.covers(kind.magnitude) for one in found):
                return None
            return (
                f"the intent {source} does not cover the magnitude {kind.magnitude} of "
                f"{kind.name}"
            )
    return f"no intent declares {kind.name} ({kind.source}, {kind.magnitude})"

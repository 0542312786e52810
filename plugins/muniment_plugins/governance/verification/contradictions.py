"""The engine ``contradiction``: claims that take back what other claims say.

    "the queue is empty"       "not the queue is empty"        contradiction
    "it holds" (0.9)           "it holds" (0.4)                weakened_restatement
    claim c1: "c1 follows"                                     circular_justification

Rules:

- It compares texts, and knows no language: case and spaces aside, a statement contradicts
  the one that it negates by a leading ``not``, or by a ``not`` after its verb.
- Within a step the claims of its bundle are compared; for the flow, those of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from muniment_plugins.governance.verification.baseline import claims_of
from muniment_plugins.governance.verification.rulebook import Rulebook
from muniment_plugins.governance.verification.subjects import (
    EngineVerdict,
    VerificationSubject,
    Violation,
    worst,
)

__all__ = ["contradictions_between", "judge_contradiction"]

_RULES = ("contradiction", "weakened_restatement", "circular_justification")
_NOT = re.compile(
    r"\bnot\b|\b(?:do|does|did)n['\u2019]t\b|\b(is|are|was|were)n['\u2019]t\b"
)

Row = Mapping[str, object]


def judge_contradiction(subject: VerificationSubject, book: Rulebook) -> EngineVerdict:
    """Return what the claims say about each other."""
    bundles = subject.bundles if subject.is_flow else [subject.bundle]
    claims = [claim for one in bundles for claim in claims_of(one)]
    if not claims:
        return EngineVerdict("contradiction", "abstain")
    found = tuple(
        _violation(book, rule, detail)
        for rule, detail in contradictions_between(claims)
    )
    cost = sum(book.rule(one).cost for one in _RULES)
    return EngineVerdict("contradiction", worst(found), _RULES, cost, found)


def _violation(book: Rulebook, rule: str, detail: str) -> Violation:
    return book.violation(rule, detail)


def contradictions_between(claims: list[Row]) -> Iterator[tuple[str, str]]:
    """Yield the rule that claims break between them, and how, in their order."""
    said: dict[str, tuple[str, float]] = {}
    denied: dict[str, str] = {}
    for one in claims:
        name, text = str(one["claim_id"]), _plain(str(one["statement"]))
        sure = cast("float", one["confidence"])
        core, negative = _core(text)
        if re.search(rf"\b{re.escape(name.lower())}\b", text):
            yield "circular_justification", f"claim {name:.80} names itself"
        other = said.get(core) if negative else None
        against = other[0] if other else (None if negative else denied.get(core))
        if against is not None:
            detail = f"claim {name:.80} says the opposite of claim {against:.80}"
            yield "contradiction", detail
        earlier = None if negative else said.get(core)
        if earlier is not None and sure < earlier[1]:
            detail = (
                f"claim {name:.80} says claim {earlier[0]:.80} with less confidence"
            )
            yield "weakened_restatement", detail
        if negative:
            denied.setdefault(core, name)
        else:
            said.setdefault(core, (name, sure))


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(" .!")


def _core(text: str) -> tuple[str, bool]:
    """Return what *text* says or denies, and whether it denies it."""
    denials = len(_NOT.findall(text))
    if not denials:
        return text, False
    left = " ".join(_NOT.sub(lambda found: found[1] or "", text).split())
    return left, denials % 2 == 1

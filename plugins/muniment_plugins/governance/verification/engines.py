"""The engines: those in the box, those of plugins, and one question to all of them.

    @hookimpl(optionalhook=True)
    def verification_engines():
        return {"polite": lambda subject: [{"rule": "polite", "detail": "…"}]}

Rules:

- A policy names its engines; so which plugins are installed changes no verdict.
- An engine of a plugin returns its violations: texts, or objects with ``rule``,
  ``detail`` and ``severity``; an empty list passes, and ``None`` abstains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from muniment.encoding.registry import ValueTypes
from muniment.programs.references import Function, plain
from muniment_plugins.governance.documents.words import SEVERITIES
from muniment_plugins.governance.verification.content import judge_content
from muniment_plugins.governance.verification.contradictions import (
    judge_contradiction,
)
from muniment_plugins.governance.verification.rulebook import Rulebook
from muniment_plugins.governance.verification.signatures import judge_signature
from muniment_plugins.governance.verification.subjects import (
    EngineVerdict,
    VerificationSubject,
    Violation,
    worst,
)

__all__ = ["judged_by"]


def judged_by(
    engine: str, subject: VerificationSubject, book: Rulebook, values: ValueTypes
) -> EngineVerdict:
    """Return what the engine called *engine* says about *subject*."""
    if engine == "content":
        return judge_content(subject, book, values)
    if engine == "signature":
        return judge_signature(subject, book)
    if engine == "contradiction":
        return judge_contradiction(subject, book)
    return _foreign(engine, book.engines[engine], subject, book)


def _foreign(
    engine: str, function: Function, subject: VerificationSubject, book: Rulebook
) -> EngineVerdict:
    given = plain(function)(subject.document())
    if given is None:
        return EngineVerdict(engine, "abstain")
    found = tuple(_violation(engine, one, book) for one in _listed(given))
    names = tuple(dict.fromkeys(one.rule for one in found)) or (engine,)
    cost = sum(book.rule(one).cost for one in names)
    return EngineVerdict(engine, worst(found), names, cost, found)


def _listed(given: object) -> Sequence[object]:
    whole: Sequence[object] = (given,)
    return (
        whole if isinstance(given, str | Mapping) else cast("Sequence[object]", given)
    )


def _violation(engine: str, given: object, book: Rulebook) -> Violation:
    if not isinstance(given, Mapping):
        return book.violation(engine, str(given))
    told = cast("Mapping[str, object]", given)
    said = {name: one for name, one in told.items() if one is not None}
    severity = str(said.get("severity", "error"))
    return book.violation(
        str(said.get("rule", engine)),
        str(said.get("detail", "")),
        severity if severity in SEVERITIES else "error",
    )

"""Whether a hypothesis can be judged by the measurements that a plan will make.

    {"min_improvment_pct": 10}      refused: known is min_improvement_pct

Rule: what is not known before the run is left open: it may turn out right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from muniment.programs.references import plain
from muniment_plugins.harness.claim import Claim
from muniment_plugins.harness.names import known_first
from muniment_plugins.harness.statistics.criteria import number, refuse_claim, wanted_of
from muniment_plugins.harness.statistics.first_acceptance import judge_claim
from muniment_plugins.harness.statistics.judgement import CRITERIA, judge_acceptance
from muniment_plugins.harness.statistics.verifiers import Verifier, judge_properties

__all__ = ["Prospect", "refuse_hopeless"]

_COMPARING = ("max_change_pct", "min_improvement_pct")
_NUMBERS = (*_COMPARING, "max_value", "min_value")
_OPEN = ("metric", "min_improvement_pct")
_PASS = "_pass"  # noqa: S105 - the end of a metric's name


@dataclass(frozen=True, slots=True)
class Prospect:
    """What one condition will offer to judge."""

    claim: Claim | None
    metrics: frozenset[str] | None
    """The names of all metrics; None if they are not known."""
    tested: frozenset[str] | None
    """The properties that will be tested; None if they are not known."""
    alone: bool
    """Whether there is no other condition to compare with."""


def refuse_hopeless(verifier: Verifier, ahead: Prospect) -> None:
    """Refuse a *verifier* that could not judge the condition *ahead*.

    Raises:
        HarnessRefused: what the verifier would say in the run.

    """
    function = plain(verifier.function)
    if function is judge_properties and not (ahead.tested is None or ahead.tested):
        refuse_claim(
            "no property will be tested, so none can hold",
            "give the spec properties, and the pipeline run_metamorphic_tests()",
            "vacuous",
        )
    if "claim" in verifier.takes and ahead.claim is None:
        refuse_claim("no claim is stated", "put specify_claim(claim=…) first")
    if function in (judge_acceptance, judge_claim) and ahead.claim is not None:
        settings = verifier.settings
        said = {key: settings[key] for key in _OPEN if settings.get(key) is not None}
        _refuse_wanted(wanted_of(ahead.claim, said, CRITERIA), ahead)


def _refuse_wanted(wanted: Mapping[str, object], ahead: Prospect) -> None:
    criteria = sorted(set(CRITERIA) - {"metric"})
    if not wanted.keys() & set(criteria):
        refuse_claim("the claim accepts nothing", f"give one of {', '.join(criteria)}")
    for key in _NUMBERS:
        if key in wanted:
            number(wanted[key], key)
    if ahead.alone and wanted.keys() & set(_COMPARING):
        refuse_claim(
            "the baseline cannot improve over itself",
            "add a .treatment(…), or claim max_value, min_value or equals",
            "vacuous",
        )
    if "must_pass" in wanted:
        _refuse_untested(wanted["must_pass"], ahead.tested)
    metric = wanted.get("metric")
    if isinstance(metric, str) and ahead.metrics is not None:
        _refuse_unmeasured(metric, ahead.metrics)


def _refuse_untested(wanted: object, tested: frozenset[str] | None) -> None:
    if wanted is not True and not isinstance(wanted, list | tuple):
        refuse_claim(f"must_pass {wanted!r} names no property", "give True, or names")
    if tested is None:
        return
    given = [] if wanted is True else cast("list[object]", wanted)
    names = {str(one).removesuffix(_PASS) for one in given}
    missing = ", ".join(sorted(names - tested)) or ("" if tested else "no property")
    if missing:
        refuse_claim(f"{missing}: not tested", "give the spec the property", "vacuous")


def _refuse_unmeasured(metric: str, metrics: frozenset[str]) -> None:
    if metric not in metrics:
        known = ", ".join(known_first(metric, sorted(metrics)))
        refuse_claim(
            f"no {metric} will be measured", f"the code returns {known or 'nothing'}"
        )

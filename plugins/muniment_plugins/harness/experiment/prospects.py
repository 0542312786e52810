"""Whether a hypothesis can be judged by the measurements that a plan will make.

    {"min_improvment_pct": 10}      refused: known is min_improvement_pct

Rules:

- What is not known before the run is left open: it may turn out right.
- What a claim and a verifier say of themselves is read by the functions that read it
  in the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from muniment.programs.references import plain
from muniment_plugins.harness.claim import Claim
from muniment_plugins.harness.names import known_first
from muniment_plugins.harness.statistics.criteria import (
    DIRECTIONS,
    asked_in,
    names_in,
    refuse_claim,
    refuse_untested,
    require_bounds,
    require_direction,
    wanted_of,
)
from muniment_plugins.harness.statistics.first_acceptance import judge_claim
from muniment_plugins.harness.statistics.judgement import (
    CRITERIA,
    change_in,
    judge_acceptance,
    refuse_alone,
    require_level,
)
from muniment_plugins.harness.statistics.verifiers import Verifier, judge_properties

__all__ = ["Prospect", "refuse_hopeless"]

_COMPARING = ("max_change_pct", "min_improvement_pct")
_OPEN = ("metric", "min_improvement_pct")
_JUDGES = (judge_acceptance, judge_claim)


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
    before: frozenset[str] | None = None
    """The names of the baseline's metrics, as those of ``metrics``."""


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
            "harness/vacuous",
        )
    if "claim" in verifier.takes and ahead.claim is None:
        refuse_claim("no claim is stated", "put specify_claim(claim=…) first")
    if function in _JUDGES and ahead.claim is not None:
        settings = verifier.settings
        said = {key: settings[key] for key in _OPEN if settings.get(key) is not None}
        wanted = wanted_of(ahead.claim, said, CRITERIA)
        require_direction(settings.get("direction", DIRECTIONS[0]))
        require_level(cast("float | None", settings.get("alpha")))
        _refuse_wanted(wanted, ahead)


def _refuse_wanted(wanted: Mapping[str, object], ahead: Prospect) -> None:
    asked = asked_in(wanted, set(CRITERIA) - {"metric"})
    require_bounds(wanted)
    if "max_change_pct" in asked:
        change_in(asked["max_change_pct"])
    compared = bool(asked.keys() & set(_COMPARING))
    if ahead.alone and compared:
        refuse_alone()
    if "must_pass" in asked:
        _refuse_untested(asked["must_pass"], ahead.tested)
    metric = wanted.get("metric")
    if isinstance(metric, str):
        for metrics in (ahead.metrics, ahead.before if compared else None):
            if metrics is not None:
                _refuse_unmeasured(metric, metrics)


def _refuse_untested(wanted: object, tested: frozenset[str] | None) -> None:
    passes = None if tested is None else [f"{one}_pass" for one in sorted(tested)]
    names = (passes or []) if wanted is True else names_in(wanted)
    if passes is not None:
        refuse_untested(names, passes)
    elif wanted is not True and not names:
        refuse_untested(names, ())


def _refuse_unmeasured(metric: str, metrics: frozenset[str]) -> None:
    if metric not in metrics:
        known = ", ".join(known_first(metric, sorted(metrics)))
        refuse_claim(
            f"no {metric} will be measured", f"the code returns {known or 'nothing'}"
        )

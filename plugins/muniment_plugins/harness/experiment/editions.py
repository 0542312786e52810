"""An experiment as an earlier edition would have planned it.

    of_edition(program, 1)      judged by `first_acceptance` instead of `judgement`
    of_edition(program, 2)      without what `Pipeline.of_edition` takes from its steps
    before_syntax(program)      with specs that are narrow, and do not say so

Rules:

- The recorded plan decides, not whoever replays it: a program that is given for a run
  of an earlier edition judges as that edition did.
- Each step knows its own earlier forms: see `Pipeline.as_recorded`. Functions have the
  names that the plan gives them: see `namings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from muniment.programs.references import Function, named, plain
from muniment_plugins.harness.claim import Spec
from muniment_plugins.harness.namings import as_before, as_named
from muniment_plugins.harness.statistics.first_acceptance import judge_claim
from muniment_plugins.harness.statistics.judgement import judge_acceptance
from muniment_plugins.harness.statistics.verifiers import Hypothesis
from muniment_plugins.harness.steps.claim_and_spec import IssueSpec

if TYPE_CHECKING:
    from muniment_plugins.harness.experiment.plan import ExperimentPlan

__all__ = ["as_ever", "as_first_edition", "as_planned", "before_syntax", "of_edition"]

P = TypeVar("P", bound="ExperimentPlan")
Row = Mapping[str, object]

_EARLIER = (1, 2)
_FIRST: Mapping[Function, Function] = {judge_acceptance: judge_claim}
"""Today's verifier → the one that it replaced."""


def of_edition(program: P, edition: int) -> P:
    """Return *program* as *edition* planned it; unchanged if it is of that edition."""
    if program.edition == edition or edition not in _EARLIER:
        return program
    judged = program.hypotheses
    hypotheses = tuple(map(_first, judged)) if edition == 1 else judged
    pipeline = program.pipeline.of_edition(edition)
    return replace(program, pipeline=pipeline, hypotheses=hypotheses, edition=edition)


def as_planned(program: P, plan: Row) -> P:
    """Return *program* with the rules under which *plan* was recorded."""
    steps = cast("list[Row]", plan["pipeline"])
    planned = of_edition(program, cast("int", plan.get("edition", 1)))
    issued = [one for one in steps if one.get("step") == IssueSpec.name]
    if issued and not any("syntax" in one for one in issued):
        planned = before_syntax(planned)
    planned = replace(planned, pipeline=planned.pipeline.as_recorded(steps))
    return as_named(planned, plan)


def as_ever(program: P) -> Iterator[P]:
    """Yield *program* as each edition would have planned it, today's edition first."""
    second = of_edition(program, 2)
    for told in (program, second, before_remedies(second)):
        for one in (told, as_before(told)):
            yield one
            yield before_syntax(one)


def as_first_edition(program: P) -> P:
    """Return *program* with its steps and verdicts as the first edition planned them."""
    names: list[Row] = [{"step": one.name} for one in program.pipeline]
    return as_before(as_planned(program, {"pipeline": names}))


def before_remedies(program: P) -> P:
    """Return *program* as it was before models were told what to write instead."""
    pipeline = program.pipeline
    return replace(program, pipeline=pipeline.as_recorded(pipeline.untold()))


def before_syntax(program: P) -> P:
    """Return *program* with its specs as recorded before specs had a syntax."""
    steps = (
        step.narrowed() if isinstance(step, IssueSpec) else step
        for step in program.pipeline
    )
    treatments = (
        one if one.fixed is None else replace(one, apply=_narrowed(one.fixed))
        for one in program.treatments
    )
    return replace(
        program,
        pipeline=type(program.pipeline)(steps),
        treatments=tuple(treatments),
        context=_narrowed(program.context),
    )


def _narrowed(changes: Row) -> Row:
    spec = changes.get("spec")
    if not isinstance(spec, Spec):
        return changes
    return {**changes, "spec": replace(spec, syntax="narrow").to_json()}


def _first(hypothesis: Hypothesis) -> Hypothesis:
    earlier = _FIRST.get(plain(hypothesis.verifier.function))
    if earlier is None:
        return hypothesis
    verifier = replace(hypothesis.verifier, function=named(earlier))
    return replace(hypothesis, verifier=verifier)

"""An experiment as an earlier edition would have planned it.

    of_edition(program, 1)      judged by `acceptance`, and not by `judgement`
    before_syntax(program)      with specs that are narrow, and do not say so

Rules:

- The plan that was recorded decides, not who replays it: a program that is given for a
  run of an earlier edition judges as that edition did.
- Steps say for themselves what they were: see `Pipeline.as_recorded`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment_plugins.harness.acceptance import judge_claim
from muniment_plugins.harness.claims import Spec
from muniment_plugins.harness.judgement import judge_acceptance
from muniment_plugins.harness.references import Function, named, plain
from muniment_plugins.harness.stating import IssueSpec
from muniment_plugins.harness.verifiers import Hypothesis

if TYPE_CHECKING:
    from muniment_plugins.harness.programs import ExperimentProgram

__all__ = ["as_first_edition", "as_planned", "before_syntax", "of_edition"]

Row = Mapping[str, object]

_FIRST: Mapping[Function, Function] = {judge_acceptance: judge_claim}
"""What took the place of what."""


def of_edition(program: ExperimentProgram, edition: int) -> ExperimentProgram:
    """Return *program* as *edition* planned it; itself where it is of that one."""
    if program.edition == edition or edition != 1:
        return program
    hypotheses = tuple(map(_first, program.hypotheses))
    return replace(program, hypotheses=hypotheses, edition=1)


def as_planned(program: ExperimentProgram, plan: Row) -> ExperimentProgram:
    """Return *program* with the rules by which *plan* was recorded."""
    steps = cast("list[Row]", plan["pipeline"])
    planned = of_edition(program, cast("int", plan.get("edition", 1)))
    issued = [one for one in steps if one.get("step") == IssueSpec.name]
    if issued and not any("syntax" in one for one in issued):
        planned = before_syntax(planned)
    return replace(planned, pipeline=planned.pipeline.as_recorded(steps))


def as_first_edition(program: ExperimentProgram) -> ExperimentProgram:
    """Return *program* with its steps and verdicts as the first edition planned them."""
    names: list[Row] = [{"step": one.name} for one in program.pipeline]
    return as_planned(program, {"pipeline": names})


def before_syntax(program: ExperimentProgram) -> ExperimentProgram:
    """Return *program* with its specs as they were recorded before they had a syntax."""
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

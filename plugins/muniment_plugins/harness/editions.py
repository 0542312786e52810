"""An experiment as an earlier edition would have planned it.

    of_edition(program, 1)      judged by `acceptance`, and not by `judgement`

Rules:

- The plan that was recorded decides, not who replays it: a program that is given for a
  run of an earlier edition judges as that edition did.
- Steps say for themselves what they were: see `Pipeline.as_recorded`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment_plugins.harness.acceptance import judge_claim
from muniment_plugins.harness.judgement import judge_acceptance
from muniment_plugins.harness.references import Function, named, plain
from muniment_plugins.harness.verifiers import Hypothesis

if TYPE_CHECKING:
    from muniment_plugins.harness.programs import ExperimentProgram

__all__ = ["as_first_edition", "of_edition"]

_FIRST: Mapping[Function, Function] = {judge_acceptance: judge_claim}
"""What took the place of what."""


def of_edition(program: ExperimentProgram, edition: int) -> ExperimentProgram:
    """Return *program* as *edition* planned it; itself where it is of that one."""
    if program.edition == edition or edition != 1:
        return program
    hypotheses = tuple(map(_first, program.hypotheses))
    return replace(program, hypotheses=hypotheses, edition=1)


def as_first_edition(program: ExperimentProgram) -> ExperimentProgram:
    """Return *program* with its steps and verdicts as the first edition planned them."""
    names: list[Mapping[str, object]] = [{"step": one.name} for one in program.pipeline]
    pipeline = program.pipeline.as_recorded(names)
    return replace(of_edition(program, 1), pipeline=pipeline)


def _first(hypothesis: Hypothesis) -> Hypothesis:
    earlier = _FIRST.get(plain(hypothesis.verifier.function))
    if earlier is None:
        return hypothesis
    verifier = replace(hypothesis.verifier, function=named(earlier))
    return replace(hypothesis, verifier=verifier)

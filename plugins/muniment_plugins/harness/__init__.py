"""The harness: claim, spec, bounded code, execution and verdict, recorded as one run.

    result = experiment.run(replicates=3)
    result.metrics.baseline.metrics        {'total': [15, 15, 15], …}

Every finding on the way is a fact in the ledger, and the run can be derived again from
its events alone. The plugin manager loads this module: it offers the hooks and knows
the other modules by name only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from muniment.encoding.canonical import JsonValue
    from muniment.events.types import EventType
    from muniment.ledger import Ledger
    from muniment.programs.stable_names import StableName
    from muniment_plugins.harness.case import Case
    from muniment_plugins.harness.claim import Claim, Spec
    from muniment_plugins.harness.evidence_files.files import (
        ArtifactPlugin,
        EvidenceBundlePlugin,
        PromptProvenancePlugin,
    )
    from muniment_plugins.harness.experiment.experiment import Experiment
    from muniment_plugins.harness.experiment.results import Result
    from muniment_plugins.harness.experiment.treatments import Treatment
    from muniment_plugins.harness.metamorphic_tests.step import (
        run_metamorphic_tests,
    )
    from muniment_plugins.harness.refusals import (
        BoundedExecutionError,
        ExperimentFailed,
        HarnessRefused,
    )
    from muniment_plugins.harness.statistics.judgement import meets_claim
    from muniment_plugins.harness.statistics.verifiers import (
        Hypothesis,
        metamorphic,
        verifier,
    )
    from muniment_plugins.harness.steps.claim_and_spec import (
        generate_spec,
        specify_claim,
    )
    from muniment_plugins.harness.steps.custom import pipeline_step
    from muniment_plugins.harness.steps.execution import execute_capsule
    from muniment_plugins.harness.steps.pipeline import Pipeline
    from muniment_plugins.harness.steps.synthesis import bounded_synthesis

__all__ = [
    "ArtifactPlugin",
    "BoundedExecutionError",
    "Case",
    "Claim",
    "EvidenceBundlePlugin",
    "Experiment",
    "ExperimentFailed",
    "HarnessRefused",
    "Hypothesis",
    "Pipeline",
    "PromptProvenancePlugin",
    "Result",
    "Spec",
    "Treatment",
    "bounded_synthesis",
    "event_types",
    "evidence_view",
    "execute_capsule",
    "generate_spec",
    "meets_claim",
    "metamorphic",
    "pipeline_step",
    "rebuild_program",
    "report_sections",
    "run_metamorphic_tests",
    "specify_claim",
    "stable_names",
    "verifier",
]

# The kernel's own marker is equal, but importing it would load the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "ArtifactPlugin": ".evidence_files.files",
        "BoundedExecutionError": ".refusals",
        "Case": ".case",
        "Claim": ".claim",
        "EvidenceBundlePlugin": ".evidence_files.files",
        "Experiment": ".experiment.experiment",
        "ExperimentFailed": ".refusals",
        "HarnessRefused": ".refusals",
        "Hypothesis": ".statistics.verifiers",
        "Pipeline": ".steps.pipeline",
        "PromptProvenancePlugin": ".evidence_files.files",
        "Result": ".experiment.results",
        "Spec": ".claim",
        "Treatment": ".experiment.treatments",
        "bounded_synthesis": ".steps.synthesis",
        "execute_capsule": ".steps.execution",
        "generate_spec": ".steps.claim_and_spec",
        "meets_claim": ".statistics.judgement",
        "metamorphic": ".statistics.verifiers",
        "pipeline_step": ".steps.custom",
        "run_metamorphic_tests": ".metamorphic_tests.step",
        "specify_claim": ".steps.claim_and_spec",
        "verifier": ".statistics.verifiers",
    },
)


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add the facts of replicates, executions and metrics to the vocabulary."""
    from muniment_plugins.harness.vocabulary import TYPES  # noqa: PLC0415 - lazy

    return TYPES


@hookimpl
def stable_names() -> Iterable[StableName]:
    """Name the program of experiments, and the built-in verifiers."""
    from muniment_plugins.harness.declared_names import NAMES  # noqa: PLC0415 - lazy

    return NAMES


@hookimpl
def rebuild_program(
    ledger: Ledger, run: str, trust_source: bool
) -> Callable[..., object] | None:
    """Make an experiment's program from its events; None for every other run."""
    from muniment_plugins.harness.experiment.program import rebuild  # noqa: PLC0415 - lazy

    return rebuild(ledger, run, trust_source)


@hookimpl(optionalhook=True)
def evidence_view(ledger: Ledger, run: str) -> JsonValue:
    """Say what an experiment's run claimed, ran and found; None for other runs."""
    from muniment_plugins.harness.experiment.results import view_of  # noqa: PLC0415 - lazy

    return view_of(ledger, run)


@hookimpl(optionalhook=True)
def report_sections(ledger: Ledger, run: str, size: int) -> JsonValue:
    """Say how often a run's claims were tried, and what an experiment measured."""
    from muniment_plugins.harness.evidence_files.report_sections import (  # noqa: PLC0415 - lazy
        report_sections as sections,
    )

    return sections(ledger, run, size)

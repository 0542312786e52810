"""The harness: claim, spec, bounded code, execution and verdict, recorded as one run.

    result = experiment.run(replicates=3)
    result.metrics.baseline.metrics        {'total': [15, 15, 15], …}

Everything that is found on the way is a fact in the ledger, and the run can be derived
again from its events alone. This module is what the plugin manager loads: it offers
the hooks and knows its parts by name only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from muniment.event_types import EventType
    from muniment.ledger import Ledger
    from muniment_plugins.harness.artifacts import (
        ArtifactPlugin,
        EvidenceBundlePlugin,
        PromptProvenancePlugin,
    )
    from muniment_plugins.harness.cases import Case
    from muniment_plugins.harness.claims import Claim, Spec
    from muniment_plugins.harness.custom import pipeline_step
    from muniment_plugins.harness.execution import execute_capsule
    from muniment_plugins.harness.executors import Serial, Threads
    from muniment_plugins.harness.experiments import Experiment
    from muniment_plugins.harness.judgement import meets_claim
    from muniment_plugins.harness.metamorphosis import run_metamorphic_tests
    from muniment_plugins.harness.pipelines import Pipeline
    from muniment_plugins.harness.refusals import (
        BoundedExecutionError,
        ExperimentFailed,
        HarnessRefused,
    )
    from muniment_plugins.harness.results import Result
    from muniment_plugins.harness.stating import generate_spec, specify_claim
    from muniment_plugins.harness.synthesis import bounded_synthesis
    from muniment_plugins.harness.treatments import Treatment
    from muniment_plugins.harness.verifiers import Hypothesis, metamorphic, verifier

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
    "Serial",
    "Spec",
    "Threads",
    "Treatment",
    "bounded_synthesis",
    "event_types",
    "execute_capsule",
    "generate_spec",
    "meets_claim",
    "metamorphic",
    "pipeline_step",
    "rebuild_program",
    "run_metamorphic_tests",
    "specify_claim",
    "verifier",
]

# The kernel's own marker is equal, but importing it would bring the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "ArtifactPlugin": ".artifacts",
        "BoundedExecutionError": ".refusals",
        "Case": ".cases",
        "Claim": ".claims",
        "EvidenceBundlePlugin": ".artifacts",
        "Experiment": ".experiments",
        "ExperimentFailed": ".refusals",
        "HarnessRefused": ".refusals",
        "Hypothesis": ".verifiers",
        "Pipeline": ".pipelines",
        "PromptProvenancePlugin": ".artifacts",
        "Result": ".results",
        "Serial": ".executors",
        "Spec": ".claims",
        "Threads": ".executors",
        "Treatment": ".treatments",
        "bounded_synthesis": ".synthesis",
        "execute_capsule": ".execution",
        "generate_spec": ".stating",
        "meets_claim": ".judgement",
        "metamorphic": ".verifiers",
        "pipeline_step": ".custom",
        "run_metamorphic_tests": ".metamorphosis",
        "specify_claim": ".stating",
        "verifier": ".verifiers",
    },
)


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add the facts of replicates, executions and metrics to the vocabulary."""
    from muniment_plugins.harness.vocabulary import TYPES  # noqa: PLC0415 - lazy

    return TYPES


@hookimpl
def rebuild_program(
    ledger: Ledger, run: str, trust_source: bool
) -> Callable[..., object] | None:
    """Make an experiment's program from its events; None for every other run."""
    from muniment_plugins.harness.programs import rebuild  # noqa: PLC0415 - lazy

    return rebuild(ledger, run, trust_source)

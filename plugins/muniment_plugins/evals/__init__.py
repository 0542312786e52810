"""Evals: recorded runs held against fixtures, rubrics, thresholds, judges and each other.

    result = eval_suite_run(ledger, load_suite("evals/parser.toml"), ["prompt=new"])
    result["verdict"]                                        'passed'

An eval is a program over effects: what it read and what it found is in the ledger, so it
is verified, replayed and bundled as every run is. The plugin manager loads this module: it
offers the hooks and knows the other modules by name only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from muniment.events.effect_kinds import EffectKind
    from muniment.events.types import EventType
    from muniment.ledger import Ledger
    from muniment.programs.stable_names import StableName
    from muniment_plugins.evals.api import (
        eval_suite_manifest,
        eval_suite_run,
        run_record_diff,
        run_record_eval,
        run_record_eval_suite,
        run_record_fixture,
    )
    from muniment_plugins.evals.documents.suite import EvalSuite, load_suite
    from muniment_plugins.evals.reports.junit import junit_xml

__all__ = [
    "EvalSuite",
    "effect_kinds",
    "eval_suite_manifest",
    "eval_suite_run",
    "event_types",
    "junit_xml",
    "load_suite",
    "rebuild_program",
    "run_record_diff",
    "run_record_eval",
    "run_record_eval_suite",
    "run_record_fixture",
    "stable_names",
]

# The kernel's own marker is equal, but importing it would load the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "EvalSuite": ".documents.suite",
        "eval_suite_manifest": ".api",
        "eval_suite_run": ".api",
        "junit_xml": ".reports.junit",
        "load_suite": ".documents.suite",
        "run_record_diff": ".api",
        "run_record_eval": ".api",
        "run_record_eval_suite": ".api",
        "run_record_fixture": ".api",
    },
)


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add the facts of evals to the vocabulary."""
    from muniment_plugins.evals.vocabulary import TYPES  # noqa: PLC0415 - lazy

    return TYPES


@hookimpl
def effect_kinds() -> Iterable[EffectKind]:
    """Add the reading of runs."""
    from muniment_plugins.evals.vocabulary import KINDS  # noqa: PLC0415 - lazy

    return KINDS


@hookimpl
def stable_names() -> Iterable[StableName]:
    """Name the program of evals."""
    from muniment_plugins.evals.declared_names import NAMES  # noqa: PLC0415 - lazy

    return NAMES


@hookimpl
def rebuild_program(
    ledger: Ledger, run: str, trust_source: bool
) -> Callable[..., object] | None:
    """Make an eval's program from its events; None for every other run."""
    del trust_source
    from muniment_plugins.evals.engine.assembly import rebuild  # noqa: PLC0415 - lazy

    return rebuild(ledger, run)

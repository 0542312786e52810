"""What is going to be run and judged, stated before anything is.

    experiment.registered {"experiment": "sum", "plan": "sha256:…", "replicates": 3, …}

Rules:

- Every run registers itself before it executes anything. A registration made apart from
  any run, by `Experiment.register`, binds later runs of the experiment's name.
- It is found again by what it is about: the name, the ids of its claims, its plan and
  its datasource are subjects of the event. Those of the first edition have none.
- What of the plan is not said in words stands there as digests, part by part, so that a
  later reader can say which part was changed.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from muniment.canonical import canonical, sha256_tag
from muniment.errors import CannotTellError, ErasedError, RefusedError
from muniment.values import encode
from muniment_plugins.harness.metamorphosis import TestProperties
from muniment_plugins.harness.references import Function, plain, refer
from muniment_plugins.harness.stating import IssueSpec, StateClaim
from muniment_plugins.harness.synthesis import Synthesize, given_code
from muniment_plugins.harness.treatments import BASELINE, described

if TYPE_CHECKING:
    from muniment.events import Event
    from muniment.ledger import Ledger
    from muniment_plugins.harness.pipelines import Pipeline
    from muniment_plugins.harness.programs import ExperimentProgram

__all__ = [
    "KIND",
    "functions_of",
    "identity",
    "is_found",
    "recorded_sources",
    "registered",
    "subjects_of",
]

KIND = "experiment.registered"
_ID = 16
Row = Mapping[str, object]


def registered(program: ExperimentProgram, replicates: int) -> dict[str, object]:
    """Return the data of ``experiment.registered``."""
    steps = [step for pipeline in _pipelines(program) for step in pipeline]
    claims = [one.claim.to_json() for one in steps if isinstance(one, StateClaim)]
    specs = [
        one.spec.to_json()
        for one in steps
        if isinstance(one, IssueSpec) and one.spec is not None
    ]
    code = {
        sha256_tag(given.encode("utf-8", "surrogatepass"))
        for one in steps
        if isinstance(one, Synthesize) and (given := given_code(one)) is not None
    }
    plan = program.digest
    return {
        "experiment": identity(program, plan),
        "plan": plan,
        "replicates": replicates,
        "conditions": [BASELINE, *(one.name for one in program.treatments)],
        "claims": _unique(claims),
        "specs": _unique(specs),
        "hypotheses": [one.describe() for one in program.hypotheses],
        "code": sorted(code),
        "functions": _unique([refer(one) for one in functions_of(program)]),
        "sources": _sources(program),
        "parts": _parts(program),
    }


def subjects_of(said: Row) -> list[tuple[str, str]]:
    """Return what a registration is about, as names and digests."""
    claims = cast("Sequence[Row]", said["claims"])
    parts = cast("Mapping[str, str]", said.get("parts", {}))
    found = [("experiment", _named(said["experiment"])), ("plan", str(said["plan"]))]
    found += [("claim", _named(one["id"])) for one in claims]
    if "datasource" in parts:
        found.append(("datasource", parts["datasource"]))
    return list(dict.fromkeys(found))


def is_found(event: Event) -> bool:
    """Tell whether a registration is found by its subjects."""
    return any(one.name == "experiment" for one in event.subject)


def _named(name: object) -> str:
    return sha256_tag(str(name).encode("utf-8", "surrogatepass"))


def _parts(program: ExperimentProgram) -> dict[str, str]:
    """Return the parts of the plan that nothing else says, as digests."""
    steps = program.pipeline.describe()
    tests = [one for one in steps if _step(one) == TestProperties.name]
    parts: dict[str, object] = {
        "context": described(program.context, "initial_ctx"),
        "outputs": list(program.outputs),
        "tests": tests,
        "steps": [one for one in steps if one not in tests],
    }
    for one in program.treatments:
        parts[f"treatment {one.name}"] = one.describe()
    # By its source where it has one: a name alone says little.
    source = refer(program.datasource)
    parts["datasource"] = source.get("source", source)
    return {name: sha256_tag(canonical(encode(one))) for name, one in parts.items()}


def _step(described_step: object) -> object:
    return cast("Row", described_step).get("step")


def identity(program: ExperimentProgram, digest: str | None = None) -> str:
    """Return the experiment's name, else the beginning of its *digest*."""
    if program.name is not None:
        return program.name
    return (digest or program.digest).removeprefix("sha256:")[:_ID]


def _pipelines(program: ExperimentProgram) -> list[Pipeline]:
    """Return the pipeline of each condition, as far as the plan says it."""
    nothing: Row = {}
    changes = [nothing, *(one.fixed for one in program.treatments)]
    return [
        program.pipeline.under({**program.context, **one})
        for one in changes
        if one is not None
    ]


def functions_of(program: ExperimentProgram) -> list[Function]:
    """Return every function that the program calls, as far as the plan says it."""
    found: list[object] = [program.datasource]
    for step in (one for pipeline in _pipelines(program) for one in pipeline):
        found += [getattr(step, name, None) for name in ("llm", "repair", "function")]
        found += cast("Row", getattr(step, "transforms", {})).values()
    found += [one.apply for one in program.treatments]
    found += [one.verifier.function for one in program.hypotheses]
    return [one for one in found if callable(one)]


def _sources(program: ExperimentProgram) -> dict[str, str]:
    """Return digest → text of what is called, as far as its source is there."""
    found: dict[str, str] = {}
    for function in functions_of(program):
        # A lambda of another process has none, and neither has a builtin; what is
        # another by now is not imported.
        with suppress(CannotTellError, RefusedError, OSError, TypeError):
            text = inspect.getsource(plain(function))
            found[sha256_tag(text.encode())] = text
    return found


def recorded_sources(ledger: Ledger, run: str) -> dict[str, str]:
    """Return digest → text of what *run* called, as it was recorded."""
    for event in ledger.events(run=run, type=KIND, limit=1):
        with suppress(ErasedError):
            said = ledger.resolve(event)
            return dict(cast("Mapping[str, str]", said.get("sources", {})))
    return {}


def _unique(rows: Sequence[Row]) -> list[object]:
    found: list[object] = []
    for row in rows:
        if row not in found:
            found.append(row)
    return found

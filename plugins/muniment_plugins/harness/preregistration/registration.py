"""The registration: what will be run and judged, stated beforehand.

    experiment.registered {"experiment": "sum", "plan": "sha256:…", "replicates": 3, …}

Rules:

- Every run registers itself before it executes anything. A registration made apart from
  any run, by `Experiment.register`, binds later runs of the experiment's name.
- It is found by its subjects: the name, the ids of its claims, its plan and its
  datasource. Registrations of the first edition have none.
- The start of a run is counted in series: of its name, of its claims, of its data.
- Parts of the plan that are not written out are there as digests, part by part, so that
  a later reader can tell which part changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import canonical, sha256_tag
from muniment.encoding.codec import encode
from muniment.errors import CannotTellError, ErasedError, RefusedError
from muniment.formats.series import series_key
from muniment.programs.functions import source_text
from muniment.programs.references import Function, plain, refer
from muniment_plugins.harness.experiment.treatments import BASELINE, described
from muniment_plugins.harness.metamorphic_tests.step import TestProperties
from muniment_plugins.harness.steps.claim_and_spec import IssueSpec, StateClaim
from muniment_plugins.harness.steps.synthesis import Synthesize, given_code

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment_plugins.harness.claim import Claim
    from muniment_plugins.harness.experiment.plan import ExperimentPlan
    from muniment_plugins.harness.steps.pipeline import Pipeline

__all__ = [
    "KIND",
    "OF_CLAIM",
    "OF_NAME",
    "functions_of",
    "identity",
    "is_found",
    "named_functions",
    "recorded_sources",
    "registered",
    "series_of",
    "subjects_of",
]

KIND = "experiment.registered"
OF_NAME, OF_CLAIM = "experiment", "experiment.claim"
"""Prefixes of the keys of series that count the runs of a name, and of a claim."""
_ID = 16
Row = Mapping[str, object]


def registered(program: ExperimentPlan, replicates: int) -> dict[str, object]:
    """Return the data of ``experiment.registered``."""
    steps = [step for pipeline in _pipelines(program) for step in pipeline]
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
        "claims": _unique([one.to_json() for one in _claims(program)]),
        "specs": _unique(specs),
        "hypotheses": [one.describe() for one in program.hypotheses],
        "code": sorted(code),
        "functions": _unique([refer(one) for one in functions_of(program)]),
        "sources": _sources(program),
        "parts": _parts(program),
    }


def subjects_of(said: Row) -> list[tuple[str, str]]:
    """Return the subjects of a registration, as names and digests."""
    claims = cast("Sequence[Row]", said["claims"])
    parts = cast("Mapping[str, str]", said.get("parts", {}))
    found = [("experiment", _named(said["experiment"])), ("plan", str(said["plan"]))]
    found += [("claim", _named(one["id"])) for one in claims]
    if "datasource" in parts:
        found.append(("datasource", parts["datasource"]))
    return list(dict.fromkeys(found))


def series_of(program: ExperimentPlan) -> tuple[str, ...]:
    """Return the series in which every run of the experiment is counted.

    There is one for its name, one for each claim, and one for its datasource.
    """
    data = sha256_tag(canonical(encode(_datasource(program))))
    claims = (series_key(OF_CLAIM, one.id) for one in _claims(program))
    name = series_key(OF_NAME, identity(program))
    return (name, *claims, series_key("experiment.data", data))


def is_found(event: Event) -> bool:
    """Tell whether a registration is found by its subjects."""
    return any(one.name == "experiment" for one in event.subject)


def _named(name: object) -> str:
    return sha256_tag(str(name).encode("utf-8", "surrogatepass"))


def _parts(program: ExperimentPlan) -> dict[str, str]:
    """Return digests of the parts of the plan that are not written out elsewhere."""
    steps = program.pipeline.describe()
    tests = [
        one for one in steps if cast("Row", one).get("step") == TestProperties.name
    ]
    parts: dict[str, object] = {
        "context": described(program.context, "initial_ctx"),
        "outputs": list(program.outputs),
        "tests": tests,
        "steps": [one for one in steps if one not in tests],
    }
    for one in program.treatments:
        parts[f"treatment {one.name}"] = one.describe()
    parts["datasource"] = _datasource(program)
    return {name: sha256_tag(canonical(encode(one))) for name, one in parts.items()}


def _claims(program: ExperimentPlan) -> list[Claim]:
    """Return the claims of each condition, as far as the plan states them."""
    steps = [step for pipeline in _pipelines(program) for step in pipeline]
    return [one.claim for one in steps if isinstance(one, StateClaim)]


def _datasource(program: ExperimentPlan) -> object:
    """Return the digest of its source if it has one: a name alone says little."""
    source = refer(program.datasource)
    return source.get("source", source)


def identity(program: ExperimentPlan, digest: str | None = None) -> str:
    """Return the experiment's name, else the beginning of its *digest*."""
    if program.name is not None:
        return program.name
    return (digest or program.digest).removeprefix("sha256:")[:_ID]


def _pipelines(program: ExperimentPlan) -> list[Pipeline]:
    """Return the pipeline of each condition, as far as the plan states it."""
    nothing: Row = {}
    changes = [nothing, *(one.fixed for one in program.treatments)]
    return [
        program.pipeline.under({**program.context, **one})
        for one in changes
        if one is not None
    ]


def functions_of(program: ExperimentPlan) -> list[Function]:
    """Return every function that the program calls, as far as the plan states it."""
    found: list[object] = [program.datasource]
    for step in (one for pipeline in _pipelines(program) for one in pipeline):
        found += [getattr(step, name, None) for name in ("llm", "repair", "function")]
        found += cast("Row", getattr(step, "transforms", {})).values()
    found += [one.apply for one in program.treatments]
    found += [one.verifier.function for one in program.hypotheses]
    return [one for one in found if callable(one)]


def named_functions(program: ExperimentPlan) -> list[Function]:
    """Return every function that the plan names, also values of the context."""
    found = functions_of(program)
    for values in (program.context, *(one.fixed for one in program.treatments)):
        found += _functions_in(values or {})
    return found


def _functions_in(values: Row) -> Iterator[Function]:
    for one in values.values():
        if callable(one):
            yield one
        elif isinstance(one, Mapping):
            yield from _functions_in(cast("Row", one))


def _sources(program: ExperimentPlan) -> dict[str, str]:
    """Return digest → source of the functions that are called, if there is one."""
    found: dict[str, str] = {}
    for function in functions_of(program):
        if "source" not in refer(function):
            continue  # its stable name says what it does
        # A lambda of another process has no source, and neither has a builtin; a
        # function that changed by now is not imported.
        with suppress(CannotTellError, RefusedError):
            text = source_text(plain(function))
            if text is not None:
                found[sha256_tag(text.encode())] = text
    return found


def recorded_sources(ledger: Ledger, run: str) -> dict[str, str]:
    """Return digest → source of the functions that *run* called, as recorded."""
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

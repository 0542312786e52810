"""The step that runs the code, and the effect through which all code runs.

    execution.requested  {"code", "entrypoint", "seed", "allowed_imports", "resources",
                          "inputs": [{"of": {"event": "data"}}, …]}
    execution.measured   isolation layers, resource usage, output; not compared
    execution.completed  [{"status": "ok", "metrics": {"total": 15}, "order": ["total"]}]

Rules:

- Running is an effect that a replay performs again and compares; the plugin that
  answers ``execute_code`` runs it.
- One effect may run the code on several inputs, each in a child process of its own, and
  is measured once, even if its children differ. An input that an event already holds,
  or that is made from such data, is named and not written again.
- A program that failed by itself (an exception, an import refused at run time) is an
  answer: it would fail again. One that was stopped (time, memory, a signal) is a
  failure of the effect, which a resume performs again.
- A program may not claim to have passed a property: metrics ending in ``_pass`` belong
  to the harness.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Self, cast

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode
from muniment.errors import EffectFailed
from muniment.runs.waits.stand_ins import AnswerableRequest, Misfit, members
from muniment_plugins.harness.case import Case
from muniment_plugins.harness.functions.hosts import Host
from muniment_plugins.harness.refusals import (
    BoundedExecutionError,
    HarnessRefused,
    message_of,
)
from muniment_plugins.harness.requirements import require_name
from muniment_plugins.harness.steps.weakest_isolation import held_by
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = [
    "CodeStopped",
    "Execute",
    "Made",
    "execute_capsule",
    "numeric",
    "refuse_passes",
    "run_code",
]

_BOUNDS = ("clock", "require")
_LIMITS = {
    "capsule/cpu": "time_s",
    "capsule/memory": "mem_mb",
    "capsule/wall": "time_s",
}
"""Rule → the limit that it enforces."""
_STOPPED = ("killed", "limit", "timeout")


@dataclass(frozen=True, slots=True)
class Made:
    """Data made from the case's, and small JSON from which it can be made again."""

    data: object
    how: Mapping[str, object]


class CodeStopped(Exception):
    """A program was stopped from outside; ``data`` holds the error."""

    def __init__(self, error: Mapping[str, object]) -> None:
        super().__init__(message_of(error))
        self.data = dict(error)


@dataclass(frozen=True, slots=True)
class Execute:
    """Runs the accepted code on the case's data."""

    name: ClassVar[str] = "execute_capsule"
    entrypoint: str | None
    bounds: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        require_name(self.entrypoint, "execute_capsule.entrypoint")

    def under(self, changes: Mapping[str, object]) -> Self:
        """Return the step as a treatment changes it."""
        bounds = {name: changes[name] for name in _BOUNDS if name in changes}
        return replace(
            self,
            entrypoint=cast("str | None", changes.get("entrypoint", self.entrypoint)),
            bounds={**self.bounds, **bounds},
        )

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with what the code returned.

        Raises:
            BoundedExecutionError: the code failed, or was stopped.
            HarnessRefused: there is no code, or it claims to have passed a property.

        """
        chosen = replace(
            case,
            entrypoint=self.entrypoint or case.entrypoint,
            bounds={**case.bounds, **self.bounds},
        )
        (outputs,) = run_code(run or here(), chosen, [case.data])
        metrics = {**case.metrics, **numeric(outputs)}
        return replace(chosen, outputs=outputs, metrics=metrics)

    def describe(self) -> dict[str, object]:
        """Return the step as JSON."""
        bounds = {"bounds": dict(self.bounds)} if self.bounds else {}
        return {"step": self.name, "entrypoint": self.entrypoint, **bounds}

    @classmethod
    def from_json(cls, described: Mapping[str, object]) -> Self:
        """Return the step in *described*."""
        bounds = cast("Mapping[str, object]", described.get("bounds", {}))
        return cls(cast("str | None", described["entrypoint"]), dict(bounds))


def execute_capsule(
    *,
    entrypoint: str | None = None,
    require: str | None = None,
    clock: str | None = None,
) -> Execute:
    """Return the step that runs the code.

    Args:
        entrypoint: The function to call; by default the one of the synthesis.
        require: The weakest isolation level at which code may run, here and in later
            steps; the capsule's ``Policy`` lists the levels.
        clock: ``frozen`` shows the code one instant.

    """
    asked = {"clock": clock, "require": require}
    given = {name: value for name, value in asked.items() if value is not None}
    return Execute(entrypoint, given)


def numeric(outputs: Mapping[str, object]) -> dict[str, object]:
    """Return the outputs that are numbers or truth values."""
    return {
        name: value for name, value in outputs.items() if isinstance(value, int | float)
    }


def run_code(
    around: Surroundings, case: Case, inputs: Sequence[object]
) -> list[dict[str, object]]:
    """Run the case's code on each of *inputs*; return the outputs in the code's order.

    An input is data, or `Made` from the case's data, and then the request says how.
    """
    common: dict[str, object] = {
        "code": case.the_code(),
        "entrypoint": case.entrypoint,
        "seed": case.seed,
        **case.the_spec().bounds,
        **case.bounds,
    }
    request = {**common, "inputs": [_recorded(case, one) for one in inputs]}
    data = [one.data if isinstance(one, Made) else one for one in inputs]

    def perform(_: object) -> list[dict[str, object]]:
        return _perform(case.host, common, data)

    try:
        asking = AnswerableRequest(request, partial(_outcomes, len(inputs)))
        answer = around.effect("execution", asking, perform=perform)
    except EffectFailed as failure:
        if failure.error_type != CodeStopped.__name__:
            raise
        error = cast("Mapping[str, object]", failure.data)
        raise BoundedExecutionError.of(error) from failure
    except CodeStopped as stopped:
        raise BoundedExecutionError.of(stopped.data) from stopped
    return [_outputs(one) for one in cast("list[Mapping[str, object]]", answer)]


def _outcomes(count: int, value: object) -> object:
    """Return *value*, which stands for what so many executions came to.

    Raises:
        Misfit: it is not that.

    """
    rows = _list(value)
    if len(rows) == count and all(map(_is_outcome, rows)):
        return value
    raise Misfit(
        f"it is a list of {count}, each with status ok, metrics and their order; or with "
        "another status, and the error with rule and message"
    )


def _is_outcome(row: object) -> bool:
    said = members(row)
    if said.get("status") != "ok":
        error = members(said.get("error"))
        return all(isinstance(error.get(one), str) for one in _OF_ERROR)
    metrics, order = said.get("metrics"), said.get("order")
    if not isinstance(metrics, Mapping) or not isinstance(order, list):
        return False
    return {*map(str, _list(said["order"]))} <= {*members(said["metrics"])}


def _list(value: object) -> list[object]:
    return cast("list[object]", value if isinstance(value, list) else [])


_OF_ERROR = ("rule", "message")


def _recorded(case: Case, given: object) -> object:
    """Return *given* as a request carries it: if an event holds it, only its name."""
    if case.origin is None:
        return given.data if isinstance(given, Made) else given
    if isinstance(given, Made):
        return {"of": dict(case.origin), **given.how}
    return {"of": dict(case.origin)} if given is case.data else given


def _perform(
    host: Host, common: Mapping[str, object], inputs: Sequence[object]
) -> list[dict[str, object]]:
    """Run the code on every input in parallel, and return the outcome of each."""
    inside = here()

    def run(data: object) -> object:
        return host.execute(inside, {**common, "data": data})

    if len(inputs) == 1:
        answers = [cast("Mapping[str, object]", run(inputs[0]))]
    else:
        # Each thread gets this context, in which a replay permits subprocesses.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting = [pool.submit(copy_context().run, run, data) for data in inputs]
            answers = [cast("Mapping[str, object]", one.result()) for one in waiting]
    inside.record("execution.measured", {**held_by(answers), **_measured(answers)})
    for told in answers:
        if told["status"] in _STOPPED:
            error = cast("Mapping[str, object]", told["error"])
            raise CodeStopped(_with_limit(error, common))
    return [_answer(told) for told in answers]


def _with_limit(
    error: Mapping[str, object], common: Mapping[str, object]
) -> dict[str, object]:
    """Return *error* with the limit that stopped the code, and where to set it."""
    name = _LIMITS.get(str(error["rule"]))
    resources = common.get("resources")
    if name is None or not isinstance(resources, Mapping) or name not in resources:
        return dict(error)
    limit = cast("Mapping[str, object]", resources)[name]
    remedy = error.get("remedy") or f"raise {name}"
    return {
        **error,
        "message": f"{error['message']}; the limit is {name}={limit}",
        "remedy": f'{remedy}: Spec(resources={{"{name}": …}})',
    }


def _measured(group: Sequence[Mapping[str, object]]) -> dict[str, object]:
    printed = [
        {"text": told["stdout"], "truncated": told["stdout_truncated"]}
        for told in group
    ]
    complained = [{"text": told.get("stderr", "")} for told in group]
    return {
        "exits": [told.get("exit") for told in group],
        "usage": [told["usage"] for told in group],
        "stdout": printed if any(one["text"] for one in printed) else None,
        "stderr": complained if any(one["text"] for one in complained) else None,
    }


def _answer(told: Mapping[str, object]) -> dict[str, object]:
    metrics = cast("Mapping[str, object] | None", told["metrics"])
    if told.get("non_finite"):
        tagged = cast("JsonValue", metrics)
        metrics = cast("Mapping[str, object] | None", decode(tagged))
    return {
        "status": told["status"],
        "error": told["error"],
        "metrics": metrics,
        # A JSON object has no order, and people expect the code's.
        "order": None if metrics is None else list(metrics),
    }


def _outputs(answer: Mapping[str, object]) -> dict[str, object]:
    if answer["status"] != "ok":
        error = cast("Mapping[str, object]", answer["error"])
        raise BoundedExecutionError.of(error)
    metrics = cast("Mapping[str, object]", answer["metrics"])
    outputs = {name: metrics[name] for name in cast("list[str]", answer["order"])}
    refuse_passes(outputs, "the code")
    return outputs


def refuse_passes(metrics: Iterable[str], who: str) -> None:
    """Refuse *metrics* that claim what only a test may say.

    Raises:
        HarnessRefused: one of them ends in ``_pass``.

    """
    claimed = [name for name in metrics if name.endswith("_pass")]
    if claimed:
        raise HarnessRefused(
            f"{who} returned {', '.join(claimed)}, which only a test may say",
            rule="harness/metric",
            remedy="name the metric without _pass",
        )

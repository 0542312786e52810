"""Turns the request of the ``execute_code`` hook into a policy and a run.

    {"code": "…", "data": [1, 2], "entrypoint": "fit_and_eval", "seed": 0,
     "allowed_imports": ["math"], "resources": {"time_s": 5, "mem_mb": 256}}

Rules: an unknown member or resource is refused, because a misspelt limit would be no
limit. Missing members have the policy's defaults, except for ``syntax``: a request that
names none is ``narrow``, as all were before there was another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.encoding.canonical import JsonValue
from muniment.errors import UsageError
from muniment_plugins.capsule.capsule import Capsule
from muniment_plugins.capsule.language.refusals import ProgramRefused
from muniment_plugins.capsule.policy import Policy, floor_of

__all__ = ["check", "execute", "policy_of"]

_BOUNDS = (
    *("allow_dangerous", "allow_non_finite", "allowed_imports", "clock", "engine"),
    *("require", "seed", "syntax"),
)
_RESOURCES = ("mem_mb", "time_s")
_PROGRAM = ("code", "data", "entrypoint", "resources")


def execute(request: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Run what *request* asks for and return the execution as JSON.

    Raises:
        UsageError: a member is missing or unknown (rule ``capsule/request``).

    """
    policy = policy_of(request)
    missing = {"code", "data"} - request.keys()
    if missing:
        _refuse(f"the request has no {', '.join(sorted(missing))}")
    entrypoint = request.get("entrypoint") or "fit_and_eval"
    return Capsule(policy).run(request["code"], request["data"], entrypoint).to_json()


def check(request: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Say whether a run of the code in *request* would begin, and if not, why.

    A request that names ``require`` also asks whether there is such a floor; whether it
    is within reach, the machine says on which the code will run.
    """
    entrypoint = request.get("entrypoint") or "fit_and_eval"
    policy = policy_of(request)
    if request.get("require") is not None:
        floor_of(policy)
    try:
        Capsule(policy).validate(request["code"], entrypoint)
    except ProgramRefused as error:
        return {"accepted": False, "error": error.to_json()}
    return {"accepted": True}


def policy_of(request: Mapping[str, Any]) -> Policy:
    """Return the bounds that *request* states."""
    resources: Mapping[str, Any] = request.get("resources") or {}
    unknown = {
        *(request.keys() - {*_BOUNDS, *_PROGRAM}),
        *(resources.keys() - set(_RESOURCES)),
    }
    if unknown:
        _refuse(f"{', '.join(sorted(unknown))} means nothing to the capsule")
    given: dict[str, Any] = {"syntax": "narrow"}
    given |= {key: request[key] for key in _BOUNDS if request.get(key) is not None}
    return Policy(**{**given, **resources})


def _refuse(message: str) -> None:
    raise UsageError(
        message,
        rule="capsule/request",
        remedy=f"known: {', '.join((*_BOUNDS, *_PROGRAM, *_RESOURCES))}",
    )

"""From an error, as records have it, to its reason code: name, message, and data.

Rules:

- What muniment itself raises names a rule; a rule in the message of somebody else's error
  is a text like any other.
- An error whose message was erased still has a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from muniment_plugins.governance.failures.codes import CODES, ReasonCode
from muniment_plugins.governance.failures.rules import code_of_rule, rule_in

__all__ = ["ERRORS", "code_of_data", "code_of_error", "code_of_name", "is_timeout"]

_ERRORS = {
    "AgentStopped": "node_failed",
    "AppendRefused": "fact_refused",
    "BoundedExecutionError": "code_out_of_bounds",
    "CannotTellError": "needed_missing",
    "CompletionFailed": "provider_failed",
    "EffectFailed": "effect_failed",
    "EffectInDoubt": "effect_in_doubt",
    "ErasedError": "content_erased",
    "ExperimentFailed": "experiment_incomplete",
    "FlowFailed": "flow_step_broken",
    "HarnessRefused": "experiment_invalid",
    "KeyRefused": "key_refused",
    "ModelRefused": "provider_failed",
    "MunimentError": "needed_missing",
    "NotInBundle": "needed_missing",
    "ProgramRefused": "code_out_of_bounds",
    "RefusedError": "refused",
    "ReplayDiverged": "replay_diverged",
    "RunFenced": "ownership_lost",
    "StoreError": "store_unusable",
    "TooLargeForPage": "call_invalid",
    "UnknownName": "experiment_invalid",
    "UsageError": "call_invalid",
    "ValueRefused": "value_unrecordable",
    "WithheldFromBundle": "needed_missing",
    "WorkerDied": "worker_lost",
    "WorkflowFailed": "node_failed",
    "WrongError": "record_contradictory",
}
ERRORS: Mapping[str, ReasonCode] = MappingProxyType(
    {name: CODES[code] for name, code in _ERRORS.items()}
)
"""Class of muniment's own errors → the code of one whose rule says no more."""

_OTHERS = {
    "AnswerCutOff": "provider_failed",
    "BrokenProcessPool": "worker_lost",
    "CancelledError": "effect_cancelled",
    "CodeStopped": "code_over_limit",
    "ConnectionFailed": "provider_failed",
    "ModuleNotFoundError": "package_missing",
    "ProgramFailed": "program_exited",
    "WorkerLost": "worker_lost",
}
"""Class of other errors → its code, where the name alone says it."""

_TIMEOUTS = ("Timeout", "TimeoutError", "TimeoutExpired", "TimeoutException")
_FIRST_ERROR, _FIRST_OF_SERVERS = 400, 500
_PASSING = frozenset({408, 409, 425, 429})
"""What a server answers to somebody who may ask again."""


def code_of_error(name: str, message: str) -> tuple[ReasonCode | None, str | None]:
    """Return the code of the error *name*, and the rule that its *message* names.

    None if nothing is known of it: somebody else raised it.
    """
    if name not in ERRORS:
        return code_of_name(name), None
    rule = rule_in(message)
    if rule is None or (rule.startswith("effect/") and name == "EffectFailed"):
        return ERRORS[name], rule
    return code_of_rule(rule) or ERRORS[name], rule


def code_of_name(name: str) -> ReasonCode | None:
    """Return the code of an error by its name alone."""
    if name in ERRORS:
        return ERRORS[name]
    if is_timeout(name):
        return CODES["timed_out"]
    return CODES[_OTHERS[name]] if name in _OTHERS else None


def is_timeout(name: str) -> bool:
    """Tell whether an error of this name says that something took too long."""
    return name.endswith(_TIMEOUTS)


def code_of_data(data: object) -> tuple[ReasonCode | None, str | None]:
    """Return the code that the data of a failed effect gives, and the rule in it."""
    if not isinstance(data, dict):
        return None, None
    told = cast("dict[str, object]", data)
    rule, status = told.get("rule"), told.get("status")
    if isinstance(rule, str) and (known := code_of_rule(rule)) is not None:
        return known, rule
    fault = told.get("fault")
    if isinstance(fault, dict):
        name = str(cast("dict[str, object]", fault).get("name"))
        return (CODES["timed_out"] if is_timeout(name) else None), None
    if type(status) is not int or status < _FIRST_ERROR:
        return None, None
    passing = status >= _FIRST_OF_SERVERS or status in _PASSING
    return CODES["provider_failed" if passing else "provider_refused"], None

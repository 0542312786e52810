"""Runs code that a model wrote, within bounds that are stated, checked and recorded.

    execution = Capsule(Policy(allowed_imports=("math",))).run(code, data)

The language layer explains early, the operating system holds, the execution says which
walls stood. This module is what the plugin manager loads: it offers the hook and knows
its parts by name only, so that importing it costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muniment.canonical import JsonValue
    from muniment_plugins.capsule.execution import Execution
    from muniment_plugins.capsule.policy import Policy
    from muniment_plugins.capsule.refusals import BoundedExecutionError
    from muniment_plugins.capsule.running import Capsule

__all__ = [
    "BoundedExecutionError",
    "Capsule",
    "Execution",
    "Policy",
    "check_code",
    "execute_code",
]

# The kernel's own marker is equal, but importing it would bring the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "BoundedExecutionError": ".refusals",
        "Capsule": ".running",
        "Execution": ".execution",
        "Policy": ".policy",
    },
)


@hookimpl
def check_code(request: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Answer *read this code*: accepted, or the error that a run would say.

    *request* is that of `execute_code`, without data.
    """
    from muniment_plugins.capsule import requests  # noqa: PLC0415 - lazy is the point

    return requests.check(request)


@hookimpl
def execute_code(request: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Answer *execute this code*: `Execution.to_json` of one run.

    *request* has ``code``, ``data`` and optionally ``entrypoint``,
    ``allowed_imports``, ``resources`` (``time_s``, ``mem_mb``), ``seed``, ``clock``,
    ``engine``, ``require``, ``allow_dangerous``, ``allow_non_finite`` and ``syntax``,
    without which it is narrow.
    """
    from muniment_plugins.capsule import requests  # noqa: PLC0415 - lazy is the point

    return requests.execute(request)

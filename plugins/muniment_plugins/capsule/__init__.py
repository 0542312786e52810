"""Runs model-written code within stated, checked and recorded bounds.

    execution = Capsule(Policy(allowed_imports=("math",))).run(code, data)

The language layer explains early, the operating system confines, the execution says
which isolation layers were active. The plugin manager loads this module: it offers the
hooks and knows the other modules by name only, so importing it costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.capsule.capsule import Capsule
    from muniment_plugins.capsule.execution import Execution
    from muniment_plugins.capsule.language.refusals import ProgramRefused
    from muniment_plugins.capsule.policy import Policy

__all__ = [
    "Capsule",
    "Execution",
    "Policy",
    "ProgramRefused",
    "check_code",
    "execute_code",
]

# The kernel's own marker is equal, but importing it would load the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "ProgramRefused": ".language.refusals",
        "Capsule": ".capsule",
        "Execution": ".execution",
        "Policy": ".policy",
    },
)


@hookimpl
def check_code(request: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Answer *read this code*: accepted, or the error that a run would report.

    *request* is the one of `execute_code`, without data.
    """
    from muniment_plugins.capsule import requests  # noqa: PLC0415 - lazy is the point

    return requests.check(request)


@hookimpl
def execute_code(request: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Answer *execute this code*: `Execution.to_json` of one run.

    *request* has ``code``, ``data`` and optionally ``entrypoint``,
    ``allowed_imports``, ``resources`` (``time_s``, ``mem_mb``), ``seed``, ``clock``,
    ``engine``, ``require``, ``allow_dangerous``, ``allow_non_finite`` and ``syntax``,
    which is narrow by default.
    """
    from muniment_plugins.capsule import requests  # noqa: PLC0415 - lazy is the point

    return requests.execute(request)

"""A child locks itself in and tries to get out; its findings decide the level.

    {"connect": "EPERM", "exec": "SIGSYS", "read": "EACCES", …}   level "os-strong"

Rules:

- The child's layers give the level, and its attempts have to confirm it: one that
  succeeds and must not makes it ``process``, whatever the layers say.
- Each `ChildSurroundings` has one such child before any other; see `pool`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from muniment.encoding.canonical import JsonValue
from muniment_plugins.capsule.isolation import layers
from muniment_plugins.capsule.parent.findings import Machine
from muniment_plugins.capsule.parent.results import signal_name
from muniment_plugins.capsule.parent.start import Child
from muniment_plugins.capsule.parent.supervisor import ChildOutcome, supervise

__all__ = ["TIME_S", "examine"]

TIME_S = 5
_MEM_MB = 64
_HARMLESS = frozenset({"stat"})
_BELTED = frozenset({"stat", "thread"})
"""What a macOS profile lets pass: it holds for all threads of the process."""
_LONGEST = 32
_REQUEST: Mapping[str, JsonValue] = {
    "clock": "real",
    "code": None,
    "data": None,
    "imports": [],
    "limits": {"mem_mb": _MEM_MB, "time_s": TIME_S},
    "max_output": _LONGEST,
    "seed": 0,
}


def examine(child: Child) -> Machine:
    """Let *child* try to get out, end it, and judge."""
    outcome = supervise(
        child,
        json.dumps(_REQUEST).encode(),
        bounds=(TIME_S, _MEM_MB),
        max_output=_LONGEST,
        to_death=True,
    )
    return _judge(outcome)


def _judge(outcome: ChildOutcome) -> Machine:
    found: dict[str, JsonValue] | None = (outcome.answer or {}).get("ok")
    if not found or not outcome.stated:
        return Machine("process", {"missing": outcome.reason or "no answer"})
    probe = {**found, "exec": _exec_outcome(outcome)}
    level = outcome.level
    harmless = _BELTED if outcome.raised else _HARMLESS
    open_doors = {key for key, seen in probe.items() if seen == "allowed"} - harmless
    if open_doors and level.startswith("os-"):
        level = "process"
    missing = layers.missing(outcome.stated or {})
    return Machine(level, dict(sorted(probe.items())), missing)


def _exec_outcome(outcome: ChildOutcome) -> str:
    if outcome.signal:
        return signal_name(outcome.signal)
    return outcome.stdout.decode(errors="replace") or "allowed"

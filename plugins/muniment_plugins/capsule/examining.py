"""A child locks itself in and tries to get out; what it found is what is believed.

    {"connect": "EPERM", "exec": "SIGSYS", "read": "EACCES", …}   level "os-strong"

Rules:

- The level is what the child's layers give, and no more than its attempts confirm: one
  that succeeds where it must not makes it ``process``, whatever the layers say.
- Each surroundings have one such child before there is any other, see `pool`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from muniment.canonical import JsonValue
from muniment_plugins.capsule import walls
from muniment_plugins.capsule.results import signal_name
from muniment_plugins.capsule.starting import Child
from muniment_plugins.capsule.supervisor import Outcome, supervise

__all__ = ["TIME_S", "Machine", "examine"]

TIME_S = 5
_MEM_MB = 64
_HARMLESS = frozenset({"stat"})
_BELTED = frozenset({"stat", "thread"})
"""What a profile of macOS lets pass: threads are held by it like the first one."""
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


@dataclass(frozen=True, slots=True)
class Machine:
    """The strongest level here, and what the probe child could and could not do.

    ``missing`` has the walls that could not be raised, and what the system answered.
    """

    level: str
    probe: Mapping[str, JsonValue]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])


def examine(child: Child) -> Machine:
    """Let *child* try, end it, and judge."""
    outcome = supervise(
        child,
        json.dumps(_REQUEST).encode(),
        bounds=(TIME_S, _MEM_MB),
        max_output=_LONGEST,
        to_death=True,
    )
    return _judge(outcome)


def _judge(outcome: Outcome) -> Machine:
    found: dict[str, JsonValue] | None = (outcome.answer or {}).get("ok")
    if not found or not outcome.stated:
        return Machine("process", {"missing": outcome.reason or "no answer"})
    probe = {**found, "exec": _exec_outcome(outcome)}
    level = outcome.level
    harmless = _BELTED if outcome.raised else _HARMLESS
    open_doors = {key for key, seen in probe.items() if seen == "allowed"} - harmless
    if open_doors and level.startswith("os-"):
        level = "process"
    missing = walls.missing(outcome.stated or {})
    return Machine(level, dict(sorted(probe.items())), missing)


def _exec_outcome(outcome: Outcome) -> str:
    if outcome.signal:
        return signal_name(outcome.signal)
    return outcome.stdout.decode(errors="replace") or "allowed"

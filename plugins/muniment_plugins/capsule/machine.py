"""What this machine gives, asked once per process.

    machine().level   "os-strong"
    machine().probe   {"connect": "EPERM", "exec": "SIGSYS", "read": "EACCES", …}

Rules:

- It is what the first worker's probe child found: see `examining`.
- Windows is not asked: a job bounds a child, and walls nothing off.
- It says beforehand what can be required; each child is checked again before its
  program runs.
"""

from __future__ import annotations

import functools
import os

from muniment_plugins.capsule.examining import Machine
from muniment_plugins.capsule.pool import pool
from muniment_plugins.capsule.starting import Surroundings

__all__ = ["Machine", "machine", "probe_machine"]

_NOT_HERE = {"wall": "none is made for this system"}


@functools.cache
def machine() -> Machine:
    """Return what this machine gives; the first call starts a child."""
    return probe_machine()


def probe_machine() -> Machine:
    """Return what a worker without packages found, or its substitute."""
    if os.name != "posix":
        return Machine("process", {}, _NOT_HERE)
    return pool().examined(Surroundings.of((), {}))

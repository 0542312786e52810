"""The isolation that this machine offers, determined once per process.

    machine().level   "os-strong"
    machine().probe   {"connect": "EPERM", "exec": "SIGSYS", "read": "EACCES", …}

Rules:

- It is what the first worker's probe child found: see `examination`.
- Windows is not probed: a job object limits a child, but does not isolate it.
- It says beforehand what can be required; each child is checked again before its
  program runs.
"""

from __future__ import annotations

import functools
import os

from muniment_plugins.capsule.parent.findings import Machine
from muniment_plugins.capsule.parent.start import ChildSurroundings
from muniment_plugins.capsule.pool import pool

__all__ = ["Machine", "machine", "probe_machine"]

_NOT_HERE = {"wall": "none is made for this system"}


@functools.cache
def machine() -> Machine:
    """Return what this machine offers; the first call starts a child."""
    return probe_machine()


def probe_machine() -> Machine:
    """Return what the probe of a worker without packages found, or a substitute."""
    if os.name != "posix":
        return Machine("process", {}, _NOT_HERE)
    return pool().examined(ChildSurroundings.of((), {}))

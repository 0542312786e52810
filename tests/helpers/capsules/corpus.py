"""The attack programs: a file each, with what it wants and what it needs.

    tests/capsule/attacks/pivots/numpy_loadtxt.py

    \"\"\"Reads a file through a loader that an allowed module offers.\"\"\"
    # wants: read
    # allows: numpy

Rules: the docstring says which effect it wants and how it tries; comments before the
first statement say the rest. ``wants`` is one of `KINDS`; ``allows`` lists what its
spec lets it import; ``needs`` may name ``root``, ``x86_64`` or ``priority`` (to lose:
``nice -n 19`` leaves none), for the effect without a capsule; ``waits`` says how many
seconds later the effect may still come; ``takes`` in how many a capsule may end it, for
an attempt that waits for ever where it fails.
"""

from __future__ import annotations

import ast
import functools
import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ATTACKS", "FAMILIES", "HOST", "KINDS", "Attack", "attacks", "by_family"]

ATTACKS = Path(__file__).parents[2] / "capsule" / "attacks"

FAMILIES = (
    *("imports", "calls", "dunders", "frames_and_tracebacks", "format_strings"),
    *("decorators_and_metaclasses", "evaluated_text", "descriptors", "pivots"),
    *("files", "metadata", "network", "processes", "threads", "signals"),
    *("environment_secrets", "cpu", "wall", "memory", "output", "recursion"),
    *("forged_results", "forged_ends", "cross_run_leaks", "guard_tampering"),
    *("channels", "system_calls"),
)

HOST = frozenset({"call", "environment", "network", "read", "signal", "write"})
"""What touches the machine: `KINDS` beyond these stay inside, or bind at a limit."""

KINDS = {
    "call": "a system call goes through that no program may make",
    "crash": "the interpreter that runs it dies",
    "environment": "a secret of the host's environment, or another's, comes out",
    "forged": "the verdict says what the entrypoint did not earn",
    "inside": "the interpreter below the guard is reached",
    "leak": "the next program finds what this one left",
    "memory": "more memory is taken than allowed",
    "metadata": "size or time of a file comes out",
    "network": "a listener hears something",
    "output": "more comes out than the bounds allow",
    "read": "what a file holds comes out",
    "signal": "another process is disturbed",
    "time": "it runs on after the deadline",
    "write": "a file is made, changed or removed",
}


_LEAST_URGENT = 19


@dataclass(frozen=True, slots=True)
class Attack:
    """One program and its header."""

    name: str
    code: str
    wants: str
    allows: tuple[str, ...]
    needs: frozenset[str]
    waits: float
    takes: float

    @property
    def family(self) -> str:
        """The folder that it lies in."""
        return self.name.partition("/")[0]

    @property
    def fits(self) -> bool:
        """Tell whether this machine has what it needs."""
        has = {
            "priority": os.nice(0) < _LEAST_URGENT,
            "root": os.geteuid() == 0,
            "x86_64": os.uname().machine == "x86_64",
        }
        return all(has[need] for need in self.needs)


def _header(code: str) -> dict[str, str]:
    lines = code.splitlines()
    after = (ast.parse(code).body[0].end_lineno or 0) if code else 0
    found: dict[str, str] = {}
    for line in lines[after:]:
        if not line.startswith("# "):
            break
        key, _, value = line[2:].partition(":")
        found[key] = value.strip()
    return found


def _read(path: Path) -> Attack:
    code = path.read_text()
    header = _header(code)
    unknown = header.keys() - {"allows", "needs", "takes", "waits", "wants"}
    if unknown or header.get("wants") not in KINDS:
        raise ValueError(f"{path}: header {header}")
    return Attack(
        name=f"{path.parent.name}/{path.stem}",
        code=code,
        wants=header["wants"],
        allows=tuple(header.get("allows", "").split()),
        needs=frozenset(header.get("needs", "").split()),
        waits=float(header.get("waits", "0")),
        takes=float(header.get("takes", "20")),
    )


@functools.cache
def attacks() -> dict[str, Attack]:
    """Return every attack by ``family/name``, those beside each other that may share.

    A capsule keeps few workers, and starts one for each set of imports: where each
    program imports something else than the one before, NumPy is loaded again and again.
    """
    found = [_read(path) for path in ATTACKS.glob("*/*.py")]
    found.sort(key=lambda attack: (attack.allows, attack.name))
    return {attack.name: attack for attack in found}


def by_family() -> dict[str, list[Attack]]:
    """Return the attacks of every family, in the order of `FAMILIES`."""
    return {
        family: [one for one in attacks().values() if one.family == family]
        for family in FAMILIES
    }

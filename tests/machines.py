"""Machines as they are and as they might be: other users, and walls taken away.

    without(LANDLOCK)["execution"]["level"]    "os-partial"

A system call is taken away by a filter around the host, which answers ENOSYS for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import muniment
import muniment_plugins
from muniment_plugins.capsule import native, starting
from muniment_plugins.capsule.landlock import version

__all__ = [
    "LANDLOCK",
    "NAMESPACES",
    "NOBODY",
    "PROGRAM",
    "SECCOMP",
    "has_walls",
    "patched_worker",
    "reachable_python",
    "run_python",
    "strong",
    "without",
]

PROGRAM = "def fit_and_eval(data): return {'n': 1}"
NOBODY = 65534


def has_walls() -> bool:
    """Tell, without a capsule, whether this kernel has Landlock and seccomp."""
    try:
        version(native.System())
    except (KeyError, OSError):
        return False
    return Path("/proc/sys/kernel/seccomp/actions_avail").exists()


strong = pytest.mark.skipif(not has_walls(), reason="needs Landlock and seccomp")


def reachable_python() -> str:
    """Return an interpreter of this version that any user may run."""
    name = f"python3.{sys.version_info.minor}"
    for path in (sys.executable, f"/usr/local/bin/{name}", f"/usr/bin/{name}"):
        try:
            command = [path, "-c", "pass"]
            subprocess.run(command, user=NOBODY, group=NOBODY, check=True, cwd="/")
        except (OSError, subprocess.CalledProcessError):
            continue
        return path
    pytest.skip("no interpreter that an ordinary user may run")


def paths() -> str:
    """Return where a bare interpreter finds what this one uses."""
    roots = (muniment.__path__[0], muniment_plugins.__path__[0])
    packages = [path for path in sys.path if path.endswith("site-packages")]
    return os.pathsep.join([*(str(Path(root).parent) for root in roots), *packages])


def run_python(code: str, *, python: str = sys.executable, **more: Any) -> Any:
    """Return what *code*, in an interpreter of its own, prints as JSON."""
    tests = str(Path(__file__).parent)
    environment = {"PYTHONPATH": os.pathsep.join([paths(), tests])}
    done = subprocess.run(
        [python, "-c", code],
        capture_output=True,
        check=False,
        cwd="/",
        env=environment,
        text=True,
        **more,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


TAKEN = """
import json, os, sys
from muniment.errors import RefusedError
from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule.native import System
from muniment_plugins.capsule.seccomp import ALLOW, assemble
system = System()
taken = {number: "ENOSYS" for number in TAKEN}
program = assemble(os.uname().machine, taken, ALLOW)
held, where = system.at_address(program)
system.call("prctl", 38, 1)
where = (len(program) // 8).to_bytes(8, "little") + where.to_bytes(8, "little")
system.call("seccomp", 1, 0, where)
code = "def fit_and_eval(data): return {'n': 1}"
execution = Capsule().run(code, None)
refused = {}
for level in ("process", "os-partial", "os-strong"):
    try:
        Capsule(Policy(require=level)).run(code, None)
    except RefusedError as error:
        refused[level] = str(error)
"""
SHOWN = "print(json.dumps({'execution': execution.to_json(), 'refused': refused}))"


def patched_worker(place: Path, *statements: str) -> Path:
    """Return a worker file that does something else first; for `starting.WORKER`."""
    genuine = starting.WORKER
    text = genuine.read_text().replace("__file__", repr(str(genuine)))
    head, mark, tail = text.partition('    if sys.argv[2] == "warm":')
    path = place / "worker.py"
    path.write_text(
        head + "".join(f"    {line}\n" for line in statements) + mark + tail
    )
    return path


LANDLOCK = [444, 445, 446]
NAMESPACES = {"x86_64": [272, 308], "aarch64": [97, 268]}.get(os.uname().machine, [])
SECCOMP = {"x86_64": [317], "aarch64": [277]}.get(os.uname().machine, [])


def without(calls: list[int], then: str = SHOWN) -> Any:
    """Return what a machine without these system calls gives."""
    return run_python(TAKEN.replace("in TAKEN", f"in {calls}") + then)

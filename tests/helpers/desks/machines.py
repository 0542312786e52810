"""Machines as they are and as they might be: other users, and walls taken away.

    without(LANDLOCK)["execution"]["level"]    "os-partial"

A system call is taken away by a filter around the host, which answers ENOSYS for it.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import muniment
import muniment_plugins
from muniment_plugins.capsule.isolation import native
from muniment_plugins.capsule.isolation.landlock import version
from muniment_plugins.capsule.parent import start

__all__ = [
    "LANDLOCK",
    "NAMESPACES",
    "NOBODY",
    "PROGRAM",
    "SECCOMP",
    "has_walls",
    "helpers",
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
        if _may_be_run(path):
            return path
    with suppress(OSError):  # it has another layout
        if _may_be_run(path := str(_brought_out(name))):
            return path
    pytest.skip("no interpreter that an ordinary user may run")


def _may_be_run(path: str) -> bool:
    try:
        command = [path, "-c", "import ctypes, sqlite3, ssl"]
        subprocess.run(command, user=NOBODY, group=NOBODY, check=True, cwd="/")
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


@functools.cache
def _brought_out(name: str) -> Path:
    """Return this interpreter in a directory that is open to all, as one in a home is not.

    Its files are linked where they can be, else copied; what was installed stays away. It
    finds its shared library from where it stands.
    """
    place, installed = Path(tempfile.mkdtemp()), Path(sys.base_prefix)
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    place.chmod(0o755)
    away = shutil.ignore_patterns("site-packages", "test")
    lib = f"lib/{name}"
    shutil.copytree(installed / lib, place / lib, ignore=away, copy_function=_link)
    for library in (installed / "lib").glob("libpython*"):
        _link(str(library.resolve()), str(place / "lib" / library.name))
    python = place / "bin" / name
    python.parent.mkdir()
    there, here = os.fsencode(installed / "lib"), b"$ORIGIN/../lib"
    program = (installed / "bin" / name).read_bytes()
    python.write_bytes(program.replace(there, here.ljust(len(there), b"\0")))
    python.chmod(0o755)
    return python


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def paths() -> str:
    """Return where a bare interpreter finds what this one uses."""
    roots = (muniment.__path__[0], muniment_plugins.__path__[0])
    packages = [path for path in sys.path if path.endswith("site-packages")]
    return os.pathsep.join([*(str(Path(root).parent) for root in roots), *packages])


def helpers() -> str:
    """Return where another interpreter finds what tests import by plain names."""
    return os.pathsep.join(str(room) for room in Path(__file__).parents[1].iterdir())


def run_python(code: str, *, python: str = sys.executable, **more: Any) -> Any:
    """Return what *code*, in an interpreter of its own, prints as JSON."""
    environment = {"PYTHONPATH": os.pathsep.join([paths(), helpers()])}
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
from muniment_plugins.capsule.isolation.native import System
from muniment_plugins.capsule.isolation.seccomp import ALLOW, assemble
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
    """Return a worker file that does something else first; for `start.WORKER`."""
    genuine = start.WORKER
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

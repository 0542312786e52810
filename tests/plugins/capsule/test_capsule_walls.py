"""The walls of the system hold without the language layer, and say when they do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import escapes
import muniment
import muniment_plugins
from muniment.errors import RefusedError
from muniment_plugins.capsule import (
    Capsule,
    Policy,
    native,
    running,
    seccomp,
    supervisor,
)
from muniment_plugins.capsule.landlock import version
from muniment_plugins.capsule.machine import Machine, machine, probe_machine
from muniment_plugins.capsule.syscalls import ARCHITECTURES, TABLE, answers

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


@strong
@pytest.mark.parametrize("name", escapes.tried())
def test_the_walls_stop_what_the_limits_let_through(name: str) -> None:
    """Each effect shows in a child with limits only, and not behind the walls."""
    shows = name not in escapes.NOT_WITHOUT
    if os.getuid() != 0 and name in escapes.NEEDS_ROOT:
        shows = False
    assert escapes.has_effect(name, escapes.Unwalled) is shows
    assert not escapes.has_effect(name, escapes.Unread)


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
    tests = str(Path(escapes.__file__).parent)
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


@strong
@pytest.mark.skipif(os.getuid() != 0, reason="only root may become someone else")
def test_the_walls_need_no_root() -> None:
    """An ordinary user gets the same level, and the same is stopped."""
    script = "import runpy, escapes; runpy.run_path(escapes.__file__, {}, '__main__')"
    found = run_python(
        script,
        python=reachable_python(),
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
    assert found["level"] == "os-strong"
    through = {name for name, (_, after) in found["effects"].items() if after}
    hidden = {name for name, (before, _) in found["effects"].items() if not before}
    assert through == set()
    assert hidden <= escapes.NEEDS_ROOT | escapes.NOT_WITHOUT


def status_of(pid: int) -> dict[str, str]:
    """Return what /proc says of a process; nothing if it is gone, or as good as."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    found = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return {} if found["State"].startswith(("X", "Z")) else found


@strong
def test_a_child_does_not_outlive_its_parent() -> None:
    """A host that is killed in the middle of a run leaves nothing running."""
    code = (
        "from muniment_plugins.capsule import Capsule, Policy\n"
        "from muniment_plugins.capsule.machine import machine\n"
        "machine()\n"  # the probe child has ended
        "print('ready', flush=True)\n"
        "sleep = 'import time\\ndef fit_and_eval(d): time.sleep(60)'\n"
        "Capsule(Policy(allowed_imports=('time',), time_s=60)).run(sleep, 0)"
    )
    host = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    children = Path(f"/proc/{host.pid}/task/{host.pid}/children")
    child, deadline = 0, time.monotonic() + 10
    while status_of(child).get("Seccomp") != "2" and time.monotonic() < deadline:
        child = int((children.read_text().split() or ["0"])[0])
    assert child
    host.kill()
    host.communicate()
    deadline = time.monotonic() + 2
    while status_of(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert status_of(child) == {}


@strong
def test_libraries_find_the_end_of_their_stack() -> None:
    """The C library reads its own memory map for that; scikit-learn asks it."""
    body = (
        "libc = ctypes.CDLL(None)\n"
        "libc.pthread_self.restype = ctypes.c_ulong\n"
        "own, space = libc.pthread_self(), ctypes.create_string_buffer(64)\n"
        "return {'code': libc.pthread_getattr_np(ctypes.c_ulong(own), space)}"
    )
    policy = Policy(allowed_imports=escapes.MODULES, allow_dangerous=True)
    execution = escapes.run(body, escapes.Unread(policy))
    assert execution.metrics == {"code": 0}


@strong
def test_an_execution_says_which_walls_stood() -> None:
    """Level, filter digest, Landlock and the attempts of the probe child are told."""
    execution = Capsule().run(PROGRAM, None)
    layers: Any = execution.layers
    program = seccomp.program_filter(os.uname().machine, opens=True)
    assert execution.level == "os-strong"
    assert layers["seccomp"]["digest"] == seccomp.digest(program)
    assert layers["landlock"]["files"] == "read-only"
    assert layers["verified_by_parent"] is True
    assert layers["probe"] == {
        "chmod": "EPERM",
        "connect": "EPERM",
        "exec": "SIGSYS",
        "fork": "EPERM",
        "read": "EACCES",
        "read-parent": "EACCES",
        "signal": "EPERM",
        "stat": "allowed",
        "thread": "refused",
        "udp": "EPERM",
        "write": "EPERM",
    }


@strong
def test_a_forbidden_call_is_named() -> None:
    """Death by the filter is not mistaken for any other signal."""
    policy = Policy(allowed_imports=escapes.MODULES, allow_dangerous=True)
    execution = escapes.run("os.execv('/bin/true', ['true'])", escapes.Unread(policy))
    assert execution.error is not None
    assert (execution.status, execution.error["rule"]) == (
        "killed",
        "capsule/system-call",
    )


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

LANDLOCK, SECCOMP = [444, 445, 446], {"x86_64": [317], "aarch64": [277]}


def without(calls: list[int], then: str = SHOWN) -> Any:
    """Return what a machine without these system calls gives."""
    return run_python(TAKEN.replace("in TAKEN", f"in {calls}") + then)


@strong
def test_without_landlock_the_level_falls() -> None:
    """The filter alone is os-partial: no file opens at all, and the event says why."""
    found = without(LANDLOCK)
    execution = found["execution"]
    assert (execution["status"], execution["level"]) == ("ok", "os-partial")
    assert execution["layers"]["landlock"] == {"missing": "ENOSYS"}
    assert execution["layers"]["seccomp"]["filter"] == "closed"
    assert execution["layers"]["probe"]["read"] == "EPERM"
    assert list(found["refused"]) == ["os-strong"]
    assert "this capsule gives os-partial" in found["refused"]["os-strong"]


@strong
def test_without_a_filter_the_level_falls() -> None:
    """Landlock alone is no more than a process; what it stops still shows."""
    execution = (found := without(SECCOMP[os.uname().machine]))["execution"]
    assert (execution["status"], execution["level"]) == ("ok", "process")
    assert execution["layers"]["seccomp"] == {"missing": "ENOSYS"}
    probe = execution["layers"]["probe"]
    assert (probe["read"], probe["connect"]) == ("EACCES", "EACCES")
    assert (probe["signal"], probe["udp"]) == ("EPERM", "allowed")
    assert list(found["refused"]) == ["os-partial", "os-strong"]


@strong
def test_without_anything_the_level_is_that_of_a_process() -> None:
    """No walls: limits and language layer, and the attempts of the probe go through."""
    execution = without(LANDLOCK + SECCOMP[os.uname().machine])["execution"]
    assert (execution["status"], execution["level"]) == ("ok", "process")
    assert execution["layers"]["probe"]["read"] == "allowed"


@strong
def test_ordinary_programs_work_where_no_file_opens() -> None:
    """What the standard library loads late is there without Landlock too."""
    place = Path(__file__).parent
    then = f"""
sys.path.insert(0, {str(place)!r})
from conftest import ORDINARY
from test_capsule_programs import PROGRAMS
capsule = Capsule(Policy(allowed_imports=ORDINARY, require="os-partial"))
wrong = {{}}
for name, (code, metrics) in PROGRAMS.items():
    execution = capsule.run(code, [1, 2, 3, 4, 5])
    if execution.metrics != metrics:
        wrong[name] = execution.to_json()
print(json.dumps(wrong))
"""
    assert without(LANDLOCK, then) == {}


def test_a_system_that_no_walls_are_made_for_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Elsewhere the level is process, and a floor above it is refused."""
    monkeypatch.setattr(native, "architecture", lambda: "")
    monkeypatch.setattr(running, "machine", probe_machine)
    execution = Capsule().run(PROGRAM, None)
    assert (execution.status, execution.level) == ("ok", "process")
    assert "seccomp" in execution.layers
    with pytest.raises(RefusedError, match="this capsule gives process"):
        Capsule(Policy(require="os-partial")).run(PROGRAM, None)


@strong
def test_a_filter_that_does_not_load_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child states what the kernel answered; a floor refuses before the code."""
    broken = b"\xff" * 16
    monkeypatch.setattr(seccomp, "program_filter", lambda *_, **__: broken)
    execution = Capsule().run(PROGRAM, None)
    assert (execution.status, execution.level) == ("ok", "process")
    assert execution.layers["seccomp"] == {"missing": "EINVAL"}
    # The machine was found strong: it is this child that falls short.
    monkeypatch.setattr(running, "machine", lambda: Machine("os-strong", {}))
    with pytest.raises(RefusedError, match="this capsule gives process"):
        Capsule(Policy(require="os-strong")).run(PROGRAM, None)


@strong
def test_other_threads_cost_landlock_its_word() -> None:
    """Landlock holds one thread; a process that has more is not called strong."""
    policy = Policy(allowed_imports=("numpy",), env={"OPENBLAS_NUM_THREADS": "2"})
    code = "import numpy\ndef fit_and_eval(data): return {'n': 1}"
    execution = Capsule(policy).run(code, None)
    assert (execution.status, execution.level) == ("ok", "os-partial")
    assert execution.layers["landlock"] == {"missing": "EBUSY"}


LIES = {
    "bounding": {"set": True},
    "capabilities": {"set": True},
    "no_new_privs": {"set": True},
    "seccomp": {"filter": "open"},
}


def liar(tmp_path: Path, lies: dict[str, Any]) -> Path:
    """Return a worker that raises no walls and states that it did."""
    genuine = supervisor._WORKER
    text = genuine.read_text().replace("__file__", repr(str(genuine)))
    path = tmp_path / "worker.py"
    told = (
        "import muniment_plugins.capsule.program as program\n"
        f"    program.lock = lambda *_: {lies!r}\n    serve("
    )
    path.write_text(text.replace("serve(", told))
    return path


@strong
@pytest.mark.parametrize("name", sorted(LIES))
def test_a_child_that_lies_about_its_walls_is_not_let_go(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent looks in /proc before it says go, and names what is not so."""
    if name == "capabilities" and os.getuid() != 0:
        pytest.skip("an ordinary user has none to keep")
    machine()
    lying = liar(tmp_path, {name: LIES[name]})
    monkeypatch.setattr(supervisor, "_WORKER", lying)
    execution = Capsule().run("def fit_and_eval(data):\n    print(1)\n    return {}", 0)
    assert execution.error is not None
    assert (execution.status, execution.level) == ("killed", "none")
    assert f"layers not in force: ['{name}']" in str(execution.error["message"])
    assert execution.stdout == ""


@strong
def test_walls_that_nobody_can_confirm_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where /proc hides the child, the level is process, and said to be unverified."""

    def hidden(pid: int, stated: object) -> list[str]:
        raise PermissionError(pid, stated)

    machine()
    monkeypatch.setattr(supervisor, "unmet_walls", hidden)
    execution = Capsule().run(PROGRAM, None)
    assert (execution.status, execution.level) == ("ok", "process")
    assert execution.layers["verified_by_parent"] is False
    with pytest.raises(RefusedError, match="this capsule gives process"):
        Capsule(Policy(require="os-strong")).run(PROGRAM, None)


@strong
def test_the_parents_own_filter_is_not_the_childs() -> None:
    """Where the host runs behind a filter, mode 2 alone confirms nothing."""
    then = (
        "from muniment_plugins.capsule.walls import unmet_walls\n"
        "stated = {'seccomp': {'filter': 'open'}}\n"
        "print(json.dumps(unmet_walls(os.getpid(), stated)))"
    )
    assert without([], then) == ["seccomp"]


@strong
def test_a_probe_that_gets_out_lowers_the_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the layers promise and the attempts disprove counts for nothing."""
    lets_connect = dict.fromkeys((41, 42, 198, 203), "allow")
    genuine = answers
    seccomp.program_filter.cache_clear()
    monkeypatch.setattr(
        seccomp, "answers", lambda name: {**genuine(name), **lets_connect}
    )
    found = probe_machine()
    seccomp.program_filter.cache_clear()
    assert found.probe["udp"] == "allowed"
    assert found.level == "process"


def test_no_call_is_answered_twice() -> None:
    """Each call and each number stands in the table once, for both architectures."""
    rows = [line.split() for line in TABLE.splitlines() if line]
    assert all(len(row) == 2 + len(ARCHITECTURES) for row in rows)
    names = [row[0] for row in rows]
    assert len(set(names)) == len(names)
    for column, architecture in enumerate(ARCHITECTURES, start=1):
        numbers = [row[column] for row in rows if row[column] != "-"]
        assert len(set(numbers)) == len(numbers) == len(answers(architecture))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("opens", [False, True])
def test_filters_are_the_same_everywhere(architecture: str, opens: bool) -> None:
    """A filter's bytes follow from the table alone, and fit the kernel's bounds."""
    program = seccomp.program_filter(architecture, opens=opens)
    assert len(program) % 8 == 0
    assert len(program) // 8 <= 4096
    assert seccomp.digest(program).startswith("sha256:")
    others = {
        seccomp.program_filter(name, opens=state)
        for name in ARCHITECTURES
        for state in (False, True)
    }
    assert len(others) == 4

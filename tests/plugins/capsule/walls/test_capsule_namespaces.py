"""Children see a root of their own where that can be, and are told where it cannot."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import unguarded_programs
from machines import (
    LANDLOCK,
    NOBODY,
    PROGRAM,
    patched_worker,
    reachable_python,
    run_python,
    strong,
    without,
)
from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule.isolation import layers, native
from muniment_plugins.capsule.parent import start

INSIDE = """
import errno, json, os, socket, sys
from muniment_plugins.capsule.isolation import layers, namespaces
from muniment_plugins.capsule.isolation.native import System
plan = layers.plan([])
OUTSIDE = ("/etc/passwd", "/dev/zero", "/sys", "/var")
"""
ENTERED = {
    "ipc": True,
    "mount": "private root",
    "network": True,
    "user": True,
    "uts": True,
}
SEEN = """
before = {name: os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}
stated = namespaces.enter(System(), plan)
after = {name: os.readlink(f"/proc/self/ns/{name}") for name in before}
try: os.mkdir("/new")
except OSError as error: new = errno.errorcode[error.errno]
print(json.dumps({
    "apart": sorted(name for name in before if before[name] != after[name]),
    "devices": [name for _, name in socket.if_nameindex()],
    "new": new,
    "own": os.getpid() == int(os.readlink("/proc/self")),
    "root": sorted(os.listdir("/")),
    "stated": stated,
    "there": [path for path in OUTSIDE if os.path.exists(path)],
    "user": os.getuid(),
}))
"""
USERS = [{}, {"user": NOBODY, "group": NOBODY, "extra_groups": []}]


def has_user_namespaces() -> bool:
    """Tell whether this machine grants them, in a process that ends then."""
    script = f"{INSIDE}print(json.dumps(namespaces.enter(System(), plan)))"
    return "missing" not in run_python(script)


granted = pytest.mark.skipif(
    not native.architecture() or not has_user_namespaces(),
    reason="needs user namespaces",
)


@granted
@pytest.mark.parametrize("user", USERS, ids=["as it is", "nobody"])
def test_nothing_is_seen_but_what_may_be_read(user: dict[str, Any]) -> None:
    """Root and an ordinary user get the same: a small root, and no network."""
    if user and os.getuid() != 0:
        pytest.skip("only root may become someone else")
    python = {"python": reachable_python()} if user else {}
    found = run_python(INSIDE + SEEN, **python, **user)
    assert found["stated"] == ENTERED
    assert found["apart"] == ["ipc", "mnt", "net", "user", "uts"]
    assert (found["devices"], found["there"]) == (["lo"], [])
    assert found["new"] == "EROFS"
    assert found["user"] == (user or {"user": os.getuid()})["user"]
    assert found["own"] is True
    there = {path.name for path in Path("/").iterdir()}
    assert {"lib", "proc", "usr"} <= set(found["root"]) < there


@granted
@strong
def test_a_program_cannot_even_ask_about_files() -> None:
    """What Landlock does not cover is not there."""
    body = (
        "def ask(path):\n"
        "    try: os.stat(path)\n"
        "    except OSError as error: return error.errno\n"
        "return {path: ask(path) for path in ('/etc/passwd', '/var', '/usr/lib')}"
    )
    execution = unguarded_programs.run(
        body, unguarded_programs.Unread(unguarded_programs.POLICY)
    )
    hidden = dict.fromkeys(("/etc/passwd", "/var"), errno.ENOENT)
    assert execution.metrics == {**hidden, "/usr/lib": None}
    assert execution.layers["namespaces"] == ENTERED
    assert execution.layers["verified_by_parent"] is True


@granted
@strong
def test_ordinary_programs_find_what_they_load_late() -> None:
    """Time zones, processors and late modules of packages are there inside."""
    code = (
        "import pandas, sklearn.linear_model, zoneinfo\n"
        "def fit_and_eval(data):\n"
        "    zone = zoneinfo.ZoneInfo('Europe/Berlin')\n"
        "    when = pandas.Timestamp('2026-07-01').tz_localize(zone)\n"
        "    fitted = sklearn.linear_model.LinearRegression().fit([[0], [1]], [1, 3])\n"
        "    return {'offset': when.utcoffset().total_seconds(),\n"
        "            'slope': round(float(fitted.coef_[0]), 6)}\n"
    )
    imports = ("pandas", "sklearn.linear_model", "zoneinfo")
    execution = Capsule(Policy(allowed_imports=imports, mem_mb=512)).run(code, None)
    assert execution.metrics == {"offset": 7200.0, "slope": 2.0}, execution.error
    assert execution.layers["namespaces"] == ENTERED


UNSHARE = {"x86_64": 272, "aarch64": 97}.get(os.uname().machine, 0)
PIVOT = {"x86_64": 155, "aarch64": 41}.get(os.uname().machine, 0)
DENIED = {"unshare": UNSHARE, "clone": 428, "root": 430, "attach": 442, "pivot": PIVOT}


@granted
@strong
@pytest.mark.parametrize("step", ["unshare", "clone", "root", "pivot"])
def test_where_a_step_is_denied_none_is_taken(step: str) -> None:
    """The other walls stand as without, and the event says what the system answered."""
    then = (
        "import muniment_plugins.capsule.pool as pool\n"
        "worker = pool.pool()._idle[0][1]\n"
        "process = worker._process.pid\n"
        "same = all(os.readlink(f'/proc/{process}/ns/{name}')\n"
        "           == os.readlink(f'/proc/self/ns/{name}') for name in ('mnt', 'user'))\n"
        "print(json.dumps({'execution': execution.to_json(), 'same': same}))"
    )
    found = without([DENIED[step]], then)
    execution = found["execution"]
    assert (execution["status"], execution["level"]) == ("ok", "os-strong")
    assert execution["layers"]["namespaces"] == {"missing": "ENOSYS", "step": step}
    assert execution["layers"]["probe"]["stat"] == "allowed"
    assert execution["layers"]["probe"]["read"] == "EACCES"
    assert found["same"] is True


@granted
def test_a_process_that_is_left_half_way_says_so() -> None:
    """A step that fails after it was tried leaves a process that nobody may use."""
    script = """
own, genuine = os.getpid(), namespaces._Entry._pivot
def fail(entry):
    if os.getpid() == own:
        raise OSError(errno.EIO, "a disk fell off")
    genuine(entry)
namespaces._Entry._pivot = fail
try: namespaces.enter(System(), plan)
except OSError as error: print(json.dumps(error.errno))
"""
    assert run_python(INSIDE + script) == 5


@granted
def test_a_worker_that_is_left_half_way_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends, and the program gets an interpreter for itself."""
    worker = patched_worker(
        tmp_path,
        "import muniment_plugins.capsule.isolation.namespaces as namespaces",
        "own, genuine = os.getpid(), namespaces._Entry._pivot",
        "def pivot(entry):",
        "    if os.getpid() == own and sys.argv[2] == 'warm':",
        "        raise OSError(5, 'a disk fell off')",
        "    genuine(entry)",
        "namespaces._Entry._pivot = pivot",
    )
    monkeypatch.setattr(start, "WORKER", worker)
    execution = Capsule().run(PROGRAM, None)
    assert (execution.status, execution.metrics) == ("ok", {"n": 1})
    assert execution.layers["namespaces"] == ENTERED


WAYS_OUT = """
import unguarded_programs
body = f'''
def ask(path):
    try: os.stat(path)
    except OSError as error: return error.errno
others = [("host", {os.getpid()}), ("worker", os.getppid()), ("first", 1)]
ways = ("root/etc/passwd", "cwd/etc/passwd", "fd/0")
found = {{f"{{name}} {{way}}": ask(f"/proc/{{pid}}/{{way}}")
         for name, pid in others for way in ways}}
return {{**found, "own": ask("/proc/self/root/etc/passwd")}}
'''
print(json.dumps(unguarded_programs.run(body, unguarded_programs.Unread(unguarded_programs.POLICY)).metrics))
"""


@granted
@strong
@pytest.mark.parametrize("taken", [[], LANDLOCK], ids=["all walls", "no Landlock"])
def test_no_way_leads_out_through_proc(taken: list[int]) -> None:
    """The roots and descriptors of other processes are theirs."""
    found = without(taken, WAYS_OUT)
    assert found.pop("own") == errno.ENOENT
    assert len(found) == 9
    assert set(found.values()) == {errno.EACCES}


@granted
def test_a_process_of_several_threads_does_not_enter() -> None:
    """The kernel would refuse it, and the attempt in one thread would not tell."""
    script = (
        "import threading\n"
        "other = threading.Event()\n"
        "threading.Thread(target=other.wait).start()\n"
        "print(json.dumps(namespaces.enter(System(), plan)))\n"
        "other.set()"
    )
    assert run_python(INSIDE + script) == {"missing": "EINVAL", "step": "unshare"}


@granted
@strong
@pytest.mark.skipif(os.getuid() != 0, reason="only root may become someone else")
def test_an_ordinary_parent_can_confirm_it() -> None:
    """The links of a child that hides its memory are its worker's, which shows them."""
    script = (
        "import json\n"
        "from muniment_plugins.capsule import Capsule\n"
        f"print(json.dumps(Capsule().run({PROGRAM!r}, None).to_json()))"
    )
    found = run_python(script, python=reachable_python(), **USERS[1])
    assert found["level"] == "os-strong"
    assert found["layers"]["namespaces"] == ENTERED
    assert found["layers"]["verified_by_parent"] is True


def test_links_on_the_way_are_kept(tmp_path: Path) -> None:
    """A directory is found by every name that leads to it."""
    real = tmp_path / "real" / "packages"
    real.mkdir(parents=True)
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to(tmp_path / "real")
    (real / "inside").symlink_to("elsewhere")
    plan: Any = layers.plan(
        [str(tmp_path / "first" / "packages"), str(real / "inside")]
    )
    assert str(real) in plan["directories"]
    own = {key: to for key, to in plan["links"].items() if str(tmp_path) in key}
    assert own == {
        str(tmp_path / "first"): "second",
        str(tmp_path / "second"): str(tmp_path / "real"),
    }

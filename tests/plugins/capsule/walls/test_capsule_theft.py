"""A program that takes back what it wrote finds nothing, and holds up nobody."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import frame_thefts
import unguarded_programs
from machines import (
    LANDLOCK,
    NAMESPACES,
    PROGRAM,
    SECCOMP,
    paths,
    run_python,
    strong,
    without,
)
from muniment_plugins.capsule import Capsule, Policy, pool
from muniment_plugins.capsule.machine import machine
from muniment_plugins.capsule.parent import start, supervisor
from muniment_plugins.capsule.parent.streams import Selecting
from processes import children_of, is_running, soon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

TELL = "\nimport json, frame_thefts\nprint(json.dumps(frame_thefts.report(pipes={})))"
MACHINES: dict[str, tuple[list[int], str]] = {
    "all walls": ([], "os-strong"),
    "no namespaces": (NAMESPACES, "os-strong"),
    "no Landlock": (LANDLOCK, "os-partial"),
    "no filter": (SECCOMP, "process"),
    "no wall": (LANDLOCK + SECCOMP + NAMESPACES, "process"),
}
WAYS = ("warm", "cold")


def reported(name: str, *, pipes: bool) -> dict[str, list[dict[str, Any]]]:
    """Return what a machine like this shows, which must end."""
    taken, _ = MACHINES[name]
    then = TELL.format(pipes)
    found = without(taken, then) if taken else run_python(then, timeout=300)
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
@strong
@pytest.mark.parametrize("name", MACHINES)
def test_a_channel_is_not_opened_again(name: str) -> None:
    """No name leads to what a child writes to its host, whatever else it may open."""
    for way, shown in reported(name, pipes=False).items():
        taking, held = shown[:3], shown[3:]
        assert {one["level"] for one in shown} == {MACHINES[name][1]}, way
        assert [(one["status"], one["opened"], one["taken"]) for one in taking] == [
            ("ok", [], 0)
        ] * 3, way
        if name != "no filter" and MACHINES[name][1] != "process":
            assert [one["others"] for one in taking] == [[]] * 3, "no file at all"
        assert {one["rule"] for one in held} == {"capsule/wall"}, way


@pytest.mark.slow
@strong
@pytest.mark.parametrize("name", ["all walls", "no namespaces", "no wall"])
def test_where_channels_are_pipes_it_takes_bytes_and_time_is_up_all_the_same(
    name: str,
) -> None:
    """The control: what Landlock exempts opens; the host still does not wait for it."""
    for way, shown in reported(name, pipes=True).items():
        taking, held = shown[:3], shown[3:]
        assert all(one["status"] == "ok" for one in taking), (way, taking)
        assert all("/proc/self/fd/1" in one["opened"] for one in taking), way
        assert all(one["taken"] > 0 for one in taking), way
        assert {one["rule"] for one in held} == {"capsule/wall"}, way


class Stuck(Selecting):
    """A reader with the old fault: it reads what is not there, and waits for it."""

    def wait(self, seconds: float) -> None:
        """Wait without an end, once the program runs."""
        super().wait(seconds)
        for key in [*self._selector.get_map().values()]:
            if key.events == 1 and STUCK.is_set():
                os.set_blocking(key.fd, True)
                self.held = os.read(key.fd, 1)


STUCK = threading.Event()
SLEEPS = "import time\ndef fit_and_eval(data): time.sleep(3600)"
SLEEPY = Policy(allowed_imports=("time",), time_s=0.2, mem_mb=64)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_watchdog_ends_what_the_reader_does_not(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that waits for ever is freed by the end of the child, which comes."""
    assert Capsule(SLEEPY).run("import time\n" + PROGRAM, 1).status == "ok"
    machine()  # else its probe is the first that a reader gets stuck with
    if way == "cold":
        monkeypatch.setattr(pool.Pool, "_have", lambda *_: None)
    monkeypatch.setattr(supervisor, "GRACE_S", 0.2)
    monkeypatch.setattr(start, "PREPARE_S", 5.0)
    monkeypatch.setattr(start, "OVERTIME_S", 1.5)
    monkeypatch.setattr(supervisor, "opened", Stuck)
    genuine = supervisor._Conversation._go

    def go(self: Any, layers: dict[str, Any]) -> None:
        genuine(self, layers)
        STUCK.set()

    monkeypatch.setattr(supervisor._Conversation, "_go", go)
    STUCK.clear()
    ended: list[Any] = []
    reader = threading.Thread(
        target=lambda: ended.append(Capsule(SLEEPY).run(SLEEPS, None)), daemon=True
    )
    reader.start()
    reader.join(120)
    assert [(one.status, one.error["rule"]) for one in ended] == [
        ("timeout", "capsule/wall")
    ]
    assert STUCK.is_set()


HOST = """
import json, sys
from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule.parent import start
policy = Policy(allowed_imports=("time",), time_s=0.5, mem_mb=64)
capsule = Capsule(policy)
capsule.run("import time\\ndef fit_and_eval(data): return {}", None)
start.PREPARE_S = 10.0
print("ready", flush=True)
code = "import time\\ndef fit_and_eval(data):\\n    print('x' * 70000); time.sleep(3600)"
execution = capsule.run(code, None)
print(json.dumps([execution.status, execution.error["rule"]]), flush=True)
"""


@strong
@pytest.mark.slow
def test_a_host_that_is_stopped_keeps_no_child_alive() -> None:
    """The worker ends what its host has not ended, and the host hears why later."""
    path = os.pathsep.join([paths(), str(Path(__file__).parents[3])])
    host = subprocess.Popen(
        [sys.executable, "-c", HOST],
        env={"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "ready\n"
        assert soon(lambda: sleeping(host.pid))
        (child,) = sleeping(host.pid)
        os.kill(host.pid, signal.SIGSTOP)
        assert is_running(child)
        assert soon(lambda: not is_running(child))
        os.kill(host.pid, signal.SIGCONT)
        assert json.loads(host.stdout.readline()) == ["timeout", "capsule/wall"]
    finally:
        host.kill()
        host.communicate()


def sleeping(host: int) -> list[int]:
    """Return the children of workers of *host* that sleep as their program does."""
    found: list[int] = []
    for worker in children_of(host):
        for pid in children_of(worker):
            try:
                where = Path(f"/proc/{pid}/wchan").read_text()
            except OSError:
                continue
            found += [pid] if "nanosleep" in where else []
    return found


FLOODING = """
heard, said = os.pipe()
if os.fork() == 0:
    os.dup2(said, 0)
    os.closerange(3, 1024)
    os.setsid()
    if os.fork() == 0:
        try:
            for _ in range(4000):
                os.write(1, bytes(1000))
            os.write(0, b'x')
            while True:
                os.write(1, bytes(1000))
        finally:
            os.abort()
    os.abort()
os.read(heard, 1)
return {'n': 1}"""
"""Ends when more was written than a pipe holds and a host keeps."""


@pytest.mark.skipif(os.getuid() != 0, reason="others may not start a process")
@pytest.mark.parametrize("way", WAYS)
def test_what_got_away_and_writes_for_ever_is_not_listened_to(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without walls a grandchild may outlive the child; the host does not wait for it."""
    machine()
    if way == "cold":
        monkeypatch.setattr(pool.Pool, "_have", lambda *_: None)
    capsule = Unwalled(
        Policy(allowed_imports=unguarded_programs.MODULES, allow_dangerous=True)
    )
    execution = unguarded_programs.run(FLOODING, capsule)
    assert (execution.level, execution.metrics) == ("process", {"n": 1})
    assert execution.stdout_truncated, "it had been writing"


class Unwalled(unguarded_programs.Unread):
    """A capsule that has read nothing and raises no wall."""

    def _surroundings(self, program: Any) -> Any:
        genuine = super()._surroundings(program)
        around = {**json.loads(genuine.text), "walls": {}}
        return dataclasses.replace(genuine, text=json.dumps(around))


def test_names_are_tried_that_exist() -> None:
    """What is tried in vain is what would open without a capsule."""
    told = (
        f"import json, os\ndata = {os.getpid()}\nreading, writing = os.pipe()\n"
        f"{frame_thefts.NAMES}\nprint(json.dumps([reading, writing, list(opened)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True
    )
    reading, writing, opened = json.loads(done.stdout)
    assert f"/proc/self/fd/{reading}" in opened
    assert f"/dev/fd/{writing}" in opened


AFTERWARDS = """
import gc, json, os, threading, time
from pathlib import Path
import frame_thefts, attack_modes, unguarded_programs
from muniment_plugins.capsule import Capsule, Policy, pool
from muniment_plugins.capsule.parent import supervisor
from processes import children_of

thief, code = frame_thefts._program(frame_thefts.HELD), "def fit_and_eval(data): return {'n': data}"
capsule, stealing = Capsule(), unguarded_programs.Unread(frame_thefts._SHORT)
ways = (pool.Pool._have, lambda *_: None)

def steal():
    with attack_modes.guardless():
        ended = [stealing.run(thief, None), *stealing.run_many([(thief, None)] * 3)]
    assert {one.status for one in ended} == {"timeout"}
    pool.pool().close()

def run(times):
    return [capsule.run(code, number).metrics["n"] for number in range(times)]

def least(look):
    return min([look(), time.sleep(0.01)][0] for _ in range(50))

def anonymous():
    rolled = Path("/proc/self/smaps_rollup").read_text()
    return int(rolled.partition("Anonymous:")[2].split()[0])

def taken():
    gc.collect()
    children = sorted(Path(f"/proc/{pid}/cmdline").read_text() for pid in children_of(os.getpid()))
    files = least(lambda: len(os.listdir("/proc/self/fd")))
    return [len(children), files, threading.active_count()], least(anonymous)

found = []
for way, times in zip(ways, (1000, 100)):
    pool.Pool._have = way
    run(50)
    steal()
    run(1)
    before, memory = taken()
    assert run(times) == [*range(times)]
    steal()
    run(1)
    after, more = taken()
    found.append([before, after, more - memory])
pool.Pool._have = ways[0]
pool.pool().close()
found.append(children_of(os.getpid()))
print(json.dumps(found))
"""


@strong
@pytest.mark.slow
def test_a_thousand_executions_after_a_theft_leave_nothing() -> None:
    """No process, no descriptor, no thread and no memory, in the host and below it."""
    warm, cold, children = run_python(AFTERWARDS)
    for before, after, kilobytes in (warm, cold):
        assert before == after
        assert kilobytes < 2048
    assert children == []

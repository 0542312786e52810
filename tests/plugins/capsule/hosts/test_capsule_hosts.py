"""Hosts that are short of something or do unusual things: told, never left behind."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from machines import PROGRAM, reachable_python, run_python, strong
from muniment.errors import CannotTellError
from muniment_plugins.capsule import Capsule, Policy, pool
from muniment_plugins.capsule.machine import machine
from muniment_plugins.capsule.parent import supervisor
from muniment_plugins.capsule.parent.examination import examine
from muniment_plugins.capsule.parent.findings import Machine
from muniment_plugins.capsule.parent.results import judge_end
from muniment_plugins.capsule.parent.start import Child, ChildSurroundings, undivided
from muniment_plugins.capsule.parent.warm_start import Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

HOST = """
import json, os, resource, signal
from muniment.errors import MunimentError
from muniment_plugins.capsule import Capsule, Policy, pool
from muniment_plugins.capsule.parent import supervisor

supervisor.GRACE_S = pool.PATIENCE_S = 60.0

def run(code="def fit_and_eval(data): return {'n': 1}", capsule=Capsule()):
    try:
        execution = capsule.run(code, None)
    except MunimentError as error:
        return error.rule
    return execution.error["rule"] if execution.error else execution.status

def left():
    own = os.getpid()
    with open(f"/proc/{own}/task/{own}/children") as file:
        return len(os.listdir("/proc/self/fd")), file.read().split()
"""
ALONE = "pool.Pool._have = lambda *_: None\n"
EXHAUSTED = """
few, many = len(os.listdir("/proc/self/fd")), 256
before, said = left(), []
for limit in range(few, few + 14):
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, many))
    said.append(run())
    resource.setrlimit(resource.RLIMIT_NOFILE, (many, many))
    pool.pool().close()
    said.append(left() == before)
print(json.dumps([*said, run()]))
"""
FULL = """
said = []
for limit in range(1, 5):
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, 1000))
    said.append(run())
    pool.pool().close()
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1000))
try:
    Capsule().run_many([("", 0)] * 3, workers=3)
except MunimentError as error:
    said.append(error.rule)
print(json.dumps([*said, left()[1]]))
"""
DEAF = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
said = [run(), run("def fit_and_eval(data): return {'n': data.missing}")]
pool.pool().close()
print(json.dumps([*said, left()[1]]))
"""


@pytest.mark.parametrize("way", ["", ALONE])
def test_a_host_without_descriptors_is_told(way: str) -> None:
    """Whichever descriptor is one too many: an error of ours, and nothing stays."""
    said: list[Any] = run_python(HOST + way + EXHAUSTED)
    assert set(said) == {True, "ok", "capsule/spawn"}
    assert (said[0], said[-1]) == ("capsule/spawn", "ok")


FORKING = """
import time
from muniment_plugins.capsule.parent.warm_start import Worker

def receive(self, seconds, genuine=Worker._receive):
    controls.add(link(f"/proc/self/fd/{self._control.fileno()}"))
    forks.append(os.fork())
    if not forks[-1]:
        time.sleep(600)
        os._exit(0)
    return genuine(self, seconds)

forks, controls = [], set()
def link(path):
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""

run()
Worker._receive = receive
said = [run(capsule=Capsule(Policy(time_s=30)))]

def sockets(pid):
    links = [link(f"/proc/{pid}/fd/{name}") for name in range(3, 30)]
    return [found for found in links if found in controls]

for fork in forks:
    until = time.monotonic() + 60
    while sockets(fork) and time.monotonic() < until:
        time.sleep(0.01)
    said.append(sockets(fork))
    os.kill(fork, signal.SIGKILL)
print(json.dumps(said))
"""


def test_a_host_may_fork_meanwhile() -> None:
    """What another thread forks holds neither the child's pipes nor the worker."""
    assert run_python(HOST + FORKING) == ["ok", [], []]


def test_a_host_that_was_stopped_still_takes_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is there when a host goes on is not a timeout, though time is up."""
    genuine = supervisor._Conversation._go

    def go(talk: supervisor._Conversation, layers: dict[str, Any]) -> None:
        genuine(talk, layers)
        goes_on = talk.streams.wait

        def stopped(seconds: float) -> None:
            if not talk.to_send:  # the program runs
                select.select([talk.pipes.answers], [], [], 60)
                time.sleep(max(0.0, talk.deadline - time.monotonic()))
            goes_on(seconds)

        monkeypatch.setattr(talk.streams, "wait", stopped)

    monkeypatch.setattr(supervisor._Conversation, "_go", go)
    monkeypatch.setattr(supervisor, "GRACE_S", 0.5)
    execution = Capsule(Policy(time_s=0.5)).run(PROGRAM, None)
    assert (execution.status, execution.metrics) == ("ok", {"n": 1})
    assert float(str(execution.usage["wall_s"])) >= 1


FIRST = """
from muniment_plugins.capsule.isolation.native import System
System().call("prctl", 36, 1)  # PR_SET_CHILD_SUBREAPER: what is left is left to it
said = []
for most in (1, 1, 1000, 1000, 1000):
    pool.MOST_USES = most
    said.append(run())
    pool.pool().close()
print(json.dumps([*said, left()[1]]))
"""


@strong
def test_the_first_process_of_a_container_is_left_nothing() -> None:
    """A worker that is ended reaps what it forked, since not every host does."""
    assert run_python(HOST + FIRST) == ["ok"] * 5 + [[]]


def test_no_fork_comes_between_the_ends_of_a_pipe() -> None:
    """Another thread's fork waits until the child has what is the child's."""
    forked: list[int] = []

    def fork() -> None:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        forked.append(os.waitpid(pid, 0)[1])

    thread = threading.Thread(target=fork)
    with undivided():
        thread.start()
        thread.join(0.05)
        assert forked == []
    thread.join(60)
    assert forked == [0]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="becomes a user")
def test_a_user_without_processes_is_told() -> None:
    """One process is enough for a program; to try the namespaces takes another."""
    user = 50_000 + os.getpid() % 10_000  # with no other processes
    said = run_python(HOST + FULL, python=reachable_python(), user=user, group=user)
    assert said == ["capsule/spawn", "ok", "ok", "ok", "capsule/spawn", []]


@pytest.mark.parametrize("way", ["", ALONE])
def test_a_host_that_ignores_the_end_of_children_may(way: str) -> None:
    """How a child ended is the worker's to know, or nobody's; the answer counts."""
    assert run_python(HOST + way + DEAF) == ["ok", "capsule/raised", []]


@pytest.mark.parametrize("number", [32, 40])
def test_signals_without_a_name_are_told_by_number(number: int) -> None:
    """A child may end by a real-time signal, most of which have no name."""
    status, error = judge_end(number, "")
    assert (status, error["message"]) == ("killed", f"ended by signal {number}")


def test_packages_see_the_same_in_every_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are loaded before the walls stand, by the first worker and by the next."""
    place = tmp_path / "site-packages"
    place.mkdir()
    text = "import os\nSEEN = os.path.exists('/etc/passwd')"
    (place / "looking_around.py").write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(place)])
    capsule = Capsule(Policy(allowed_imports=("looking_around",)))
    code = (
        "import looking_around\n"
        "def fit_and_eval(data): return {'seen': looking_around.SEEN}"
    )
    for _ in range(2):
        assert capsule.run(code, None).metrics == {"seen": True}
        pool.pool().close()


def test_a_probe_that_was_lost_says_nothing_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next worker's probe is asked again."""
    seen: list[Machine] = []

    def lose(child: Child) -> Machine:
        if not seen:
            workers[0].close()
        seen.append(examine(child))
        return seen[-1]

    def make(*arguments: Any) -> Worker:
        workers.append(Worker(*arguments))
        return workers[-1]

    workers: list[Worker] = []
    monkeypatch.setattr(pool, "examine", lose)
    monkeypatch.setattr(pool, "Worker", make)
    fresh, around = pool.Pool(), ChildSurroundings.of((), {"NOTHING": "else"})
    fresh.examined(around)
    assert "missing" in seen[0].probe
    assert fresh.examined(around).probe.keys() > {"read", "write"}
    with fresh.child(around, 5) as child:
        assert child.found == seen[-1]
        child.end(answered=False)
        child.pipes.close()
    fresh.close()


@pytest.mark.parametrize(("name", "value"), [("executable", ""), ("frozen", True)])
def test_nothing_else_is_started_for_an_interpreter(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    """Least of all a program that has this one packed in it, over and over."""
    monkeypatch.setattr(sys, name, value, raising=False)
    with pytest.raises(CannotTellError, match="does not know its own executable"):
        pool.Pool().examined(ChildSurroundings.of((), {}))


def test_an_end_before_the_program_is_no_fault_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What starts as something else than this interpreter is told as such."""
    machine()
    monkeypatch.setattr(sys, "executable", "/bin/true")
    execution = Capsule().run("def fit_and_eval(data): return {}", None)
    assert execution.error is not None
    assert (execution.status, execution.error["rule"]) == ("error", "capsule/prepare")
    message = "the child ended by itself before the program ran"
    assert execution.error["message"] == message

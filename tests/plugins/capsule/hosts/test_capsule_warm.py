"""The warm worker: one per surroundings, replaced when it fails, gone with the host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from machines import patched_worker, run_python, strong
from muniment_plugins.capsule import Capsule, Execution, Policy, pool
from muniment_plugins.capsule.machine import machine
from muniment_plugins.capsule.parent import start
from muniment_plugins.capsule.parent.warm_start import Worker
from processes import children_of, is_running, is_worker, soon, state_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")

PROGRAM = "import math\ndef fit_and_eval(data): return {'n': math.sqrt(data)}"
WAITING = "import time\ndef fit_and_eval(data): time.sleep(300)"
PLAIN = Policy(allowed_imports=("math", "time"), time_s=20, mem_mb=64)


@pytest.fixture(autouse=True)
def workers() -> pool.Pool:
    """Begin without workers, but with the machine known."""
    machine()
    pool.pool().close()
    return pool.pool()


def the_worker() -> int:
    """Return the number of the one worker there is."""
    (found,) = [pid for pid in children_of(os.getpid()) if is_worker(pid)]
    return found


def metrics(policy: Policy = PLAIN) -> object:
    """Run a program that works and return its metrics."""
    return Capsule(policy).run(PROGRAM, 9).metrics


def test_programs_share_a_worker_and_no_process() -> None:
    """The second program is forked by the worker of the first."""
    code = "def fit_and_eval(data): return {}"
    Capsule().run(code, None)
    first = the_worker()
    for _ in range(3):
        assert Capsule().run(code, None).status == "ok"
    assert the_worker() == first
    assert soon(lambda: len(children_of(first)) == 1), "the spare, and nothing else"


def test_the_first_run_of_a_process_starts_one_worker() -> None:
    """Without a floor no machine is asked beforehand: the first child says what it is."""
    text = f"""
import json, os
from muniment_plugins.capsule import Capsule, Policy
from processes import children_of, is_worker
execution = Capsule(Policy(allowed_imports=("math",))).run({PROGRAM!r}, 9)
started = [pid for pid in children_of(os.getpid()) if is_worker(pid)]
print(json.dumps([len(started), execution.level, execution.layers["probe"]]))
"""
    found = machine()
    assert run_python(text) == [1, found.level, found.probe]


def test_nothing_of_a_program_stays_for_the_next() -> None:
    """What a program does to what its process shares is gone with the process."""
    policy = Policy(allowed_imports=("decimal",))
    code = (
        "import decimal\n"
        "def fit_and_eval(data):\n"
        "    was = decimal.getcontext().prec\n"
        "    if data: decimal.getcontext().prec = data\n"
        "    return {'was': was, 'is': decimal.getcontext().prec}"
    )
    capsule = Capsule(policy)
    changed = {"was": 28, "is": 5}
    assert [capsule.run(code, 5).metrics for _ in range(2)] == [changed, changed]
    assert capsule.run(code, 0).metrics == {"was": 28, "is": 28}


def test_a_worker_that_was_killed_is_replaced() -> None:
    """Death while it waits costs nothing but the time to start another."""
    assert metrics() == {"n": 3.0}
    first = the_worker()
    os.kill(first, signal.SIGKILL)
    assert metrics() == {"n": 3.0}
    assert the_worker() != first


def running_child() -> tuple[int, int]:
    """Return a worker and its child, once that waits in its program."""
    found: list[tuple[int, int]] = []

    def is_waiting() -> bool:
        workers = filter(is_worker, children_of(os.getpid()))
        pairs = [(worker, pid) for worker in workers for pid in children_of(worker)]
        found[:] = [pair for pair in pairs if is_asleep(pair[1])]
        return bool(found)

    assert soon(is_waiting)
    return found[0]


def is_asleep(pid: int) -> bool:
    """Tell whether *pid* is in the sleep that its program asked for."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text() == "hrtimer_nanosleep"
    except (FileNotFoundError, ProcessLookupError):
        return False


def in_background(
    code: str, policy: Policy
) -> tuple[threading.Thread, list[Execution]]:
    """Run *code* in a thread; its execution will be in the list."""
    ended: list[Execution] = []
    run = Capsule(policy).run
    thread = threading.Thread(target=lambda: ended.append(run(code, None)))
    thread.start()
    return thread, ended


@strong
def test_a_worker_that_is_killed_takes_its_child_along() -> None:
    """Death in the middle of a run is told, and the next program runs."""
    thread, ended = in_background(WAITING, PLAIN)
    worker, child = running_child()
    os.kill(worker, signal.SIGKILL)
    thread.join(60)
    (execution,) = ended
    assert execution.error is not None
    assert (execution.status, execution.error["rule"]) == ("killed", "capsule/protocol")
    assert "the worker that forked it is gone" in str(execution.error["message"])
    assert soon(lambda: not is_running(child))
    assert metrics() == {"n": 3.0}


@strong
def test_nothing_outlives_a_host_that_is_killed() -> None:
    """Worker and child end by themselves."""
    code = (
        "from muniment_plugins.capsule import Capsule, Policy\n"
        f"Capsule(Policy(allowed_imports=('time',), time_s=300)).run({WAITING!r}, 0)"
    )
    host = subprocess.Popen([sys.executable, "-c", code])
    found: list[int] = []

    def is_waiting() -> bool:
        found[:] = children_of(host.pid)
        found.extend(pid for worker in tuple(found) for pid in children_of(worker))
        return any(map(is_asleep, found))

    assert soon(is_waiting)
    host.kill()
    host.wait()
    assert soon(lambda: not any(map(is_running, found)))


def test_nothing_outlives_a_host_that_ends() -> None:
    """The workers of a process end with it, without a word."""
    code = (
        "import os, pathlib\n"
        "from muniment_plugins.capsule import Capsule\n"
        "Capsule().run('def fit_and_eval(data): return {}', 0)\n"
        "own = os.getpid()\n"
        "print(pathlib.Path(f'/proc/{own}/task/{own}/children').read_text())"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    (worker,) = done.stdout.split()
    assert done.stderr == ""
    assert soon(lambda: not is_running(int(worker)))


def test_a_forked_host_has_workers_of_its_own() -> None:
    """Two processes never talk to the same worker."""
    assert metrics() == {"n": 3.0}
    worker = the_worker()
    pid = os.fork()
    if pid == 0:
        mine = metrics() == {"n": 3.0} and the_worker() != worker
        pool.pool().close()
        os._exit(0 if mine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert metrics() == {"n": 3.0}
    assert the_worker() == worker


def test_a_worker_is_replaced_after_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker forks more than so many children, which share one layout of memory."""
    monkeypatch.setattr(pool, "MOST_USES", 2)
    seen: list[int] = []
    monkeypatch.setattr(pool, "Worker", recording(seen))
    for _ in range(5):
        assert metrics() == {"n": 3.0}
    assert len(seen) == 3


def recording(seen: list[int]) -> Callable[..., Worker]:
    """Return what makes workers and notes their numbers."""
    genuine = Worker

    def make(*arguments: Any) -> Worker:
        worker = genuine(*arguments)
        seen.append(worker.pid)
        return worker

    return make


def test_no_more_workers_wait_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that waited longest is ended."""
    monkeypatch.setattr(pool, "MOST_IDLE", 2)
    for number in range(4):
        metrics(Policy(allowed_imports=("math",), env={"NUMBER": str(number)}))
    assert len(list(filter(is_worker, children_of(os.getpid())))) == 2


def test_programs_side_by_side_have_a_worker_each() -> None:
    """Many at once, each with its own answer, in order."""
    programs = [(PROGRAM, number * number) for number in range(40)]
    executions = Capsule(PLAIN).run_many(programs, workers=4)
    assert [e.metrics for e in executions] == [{"n": float(n)} for n in range(40)]
    assert 1 <= len(list(filter(is_worker, children_of(os.getpid())))) <= 4


def test_a_package_that_cannot_be_loaded_is_told_as_ever() -> None:
    """Whatever a package does when it is imported, the error names it."""
    policy = Policy(allowed_imports=("nowhere_to_be_found",))
    code = "import nowhere_to_be_found\ndef fit_and_eval(data): return {}"
    execution = Capsule(policy).run(code, None)
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/prepare"
    assert "nowhere_to_be_found" in str(execution.error["message"])
    assert metrics() == {"n": 3.0}


LIARS = {
    "says nothing": "os._exit(0)",
    "says nonsense": "os.write(0, b'nonsense')",
    "says no number": "os.write(0, b'{}')",
    "is not a list": "os.write(0, b'[]')",
}


@pytest.mark.parametrize("name", LIARS)
def test_a_worker_that_answers_nonsense_is_not_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program has an interpreter for itself instead."""
    said = f"sys.argv[2] == 'warm' and ({LIARS[name]}, os.read(0, 9), os._exit(0))"
    monkeypatch.setattr(start, "WORKER", patched_worker(tmp_path, said))
    assert metrics() == {"n": 3.0}


def the_spare(after: int = 0) -> int:
    """Return the number of the child that waits, once that before it is gone."""
    worker, found = the_worker(), list[int]()

    def waits() -> bool:
        found[:] = children_of(worker)
        return len(found) == 1 and found[0] != after

    assert soon(waits)
    return found[0]


def rests(pid: int) -> bool:
    """Tell whether *pid* has nothing to do, for a while at least."""
    for _ in range(20):
        if state_of(pid) != "S":
            return False
        time.sleep(0.01)
    return True


def test_a_program_runs_in_the_child_that_waited(workers: pool.Pool) -> None:
    """A child is forked while nobody waits for it, and serves one program."""
    assert metrics() == {"n": 3.0}
    worker, spare = the_worker(), the_spare()
    assert metrics() == {"n": 3.0}
    assert the_worker() == worker
    assert the_spare(after=spare) != spare
    workers.close()
    assert soon(lambda: not is_running(worker))


def test_a_spare_that_was_killed_is_replaced() -> None:
    """Nobody sees that the one who waited is gone."""
    assert metrics() == {"n": 3.0}
    worker = the_worker()
    for _ in range(10):  # dead already when it is to begin, or about to be
        os.kill(the_spare(), signal.SIGKILL)
        assert metrics() == {"n": 3.0}
    assert the_worker() == worker


def test_a_spare_does_not_outlive_its_worker() -> None:
    """It hears that its worker is gone, and goes."""
    assert metrics() == {"n": 3.0}
    spare = the_spare()
    os.kill(the_worker(), signal.SIGKILL)
    assert soon(lambda: not is_running(spare))


def test_programs_that_import_other_things_have_other_workers() -> None:
    """Nobody finds what an import left behind that was somebody else's."""
    capsule = Capsule(Policy(allowed_imports=("math", "fractions")))
    assert capsule.run(PROGRAM, 9).metrics == {"n": 3.0}
    worker = the_worker()
    body = "return {'half': str(fractions.Fraction(data, 2))}"
    code = f"import fractions\ndef fit_and_eval(data): {body}"
    assert capsule.run(code, 1).metrics == {"half": "1/2"}
    both = {pid for pid in children_of(os.getpid()) if is_worker(pid)}
    assert worker in both
    assert len(both) == 2
    assert capsule.run(PROGRAM, 9).metrics == {"n": 3.0}
    assert capsule.run(code, 1).metrics == {"half": "1/2"}
    assert {pid for pid in children_of(os.getpid()) if is_worker(pid)} == both


def test_what_a_spare_did_before_is_not_counted() -> None:
    """Its time is that of the program that runs in it."""
    capsule = Capsule(Policy(allowed_imports=("pandas",)))
    body = "return {'n': sum(i for i in range(data))}"
    burn = f"import pandas\ndef fit_and_eval(data): {body}"
    capsule.run(burn, 1)
    assert soon(lambda: rests(the_spare()))  # it has used pandas
    spent = int(Path(f"/proc/{the_spare()}/schedstat").read_text().split()[0]) / 1e9
    little = float(str(capsule.run(burn, 1).usage["cpu_s"]))
    much = float(str(capsule.run(burn, 3_000_000).usage["cpu_s"]))
    assert 0 < little < spent
    assert much > 5 * little

"""Programs in the other engine: what it runs, what it holds, what it refuses."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import muniment_plugins.capsule.engines
from muniment.errors import CannotTellError, RefusedError, UsageError, ValueRefused
from muniment_plugins.capsule import (
    Capsule,
    Execution,
    Policy,
    check_code,
    execute_code,
)
from muniment_plugins.capsule.validation import Validated
from processes import soon

pytest.importorskip("pydantic_monty")

LISTED = (
    *("bisect", "collections", "dataclasses", "datetime", "decimal", "fractions"),
    *("functools", "itertools", "json", "math", "random", "re", "statistics", "time"),
)
GUIDE = """
import math

def fit_and_eval(data):
    total = sum(data)
    mean = total / len(data) if data else 0
    return {"total": total, "mean": mean, "root": math.sqrt(total)}
"""


def monty(**bounds: Any) -> Capsule:
    """Return a capsule that has the other engine."""
    return Capsule(
        Policy(**{"allowed_imports": LISTED, "engine": "monty", "time_s": 5, **bounds})
    )


def run(body: str, data: object = None, head: str = "", **bounds: Any) -> Execution:
    """Run a function with this body."""
    indented = body.replace("\n", "\n    ")
    return monty(**bounds).run(
        f"{head}\ndef fit_and_eval(data):\n    {indented}\n", data
    )


def rule(execution: Execution) -> tuple[str, object]:
    """Return status and rule."""
    return execution.status, execution.error and execution.error["rule"]


def test_the_guides_program_gives_the_same_in_both() -> None:
    """Metrics of a plain program do not depend on the engine."""
    other = monty().run(GUIDE, [1, 2, 6])
    ours = Capsule(Policy(allowed_imports=LISTED)).run(GUIDE, [1, 2, 6])
    assert other.metrics == ours.metrics == {"total": 9, "mean": 3.0, "root": 3.0}
    assert other.code_digest == ours.code_digest


def test_an_execution_says_which_engine_held_it() -> None:
    """Level, engine, limits and environment are told, as JSON; no wall is claimed."""
    shown = json.loads(json.dumps(run("print(1)\nreturn {}", mem_mb=64).to_json()))
    assert (shown["status"], shown["level"]) == ("ok", "engine")
    assert shown["layers"]["engine"]["name"] == "monty"
    assert shown["layers"]["engine"]["as_mb"] == 64
    assert shown["layers"]["engine"]["version"]
    assert shown["layers"]["verified_by_parent"] is False
    assert "seccomp" not in shown["layers"]
    assert shown["environment"]["implementation"] == "Monty"
    assert shown["environment"]["clock"] == "real"
    assert shown["stdout"] == "1\n"
    assert shown["usage"]["wall_s"] > 0


@pytest.mark.parametrize("level", ["os-partial", "os-strong"])
def test_a_wall_that_is_required_is_not_there(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is not a wall of the operating system, and is refused where one must be."""
    with pytest.raises(RefusedError, match=f"{level} isolation is required"):
        run("return {}", require=level)
    monkeypatch.setenv("MUNIMENT_REQUIRE", level)
    with pytest.raises(RefusedError, match="this capsule gives engine"):
        run("return {}")


@pytest.mark.parametrize("level", ["none", "process", "engine"])
def test_a_floor_below_is_met(level: str) -> None:
    """The engine ranks above a process that has a system beneath it."""
    assert run("return {}", require=level).status == "ok"


def test_the_language_layer_reads_first() -> None:
    """What the validator refuses never reaches the engine."""
    execution = run("return {'x': open('/etc/hostname').read()}")
    assert (execution.status, execution.level) == ("rejected", "none")
    assert rule(execution) == ("rejected", "capsule/call")


def test_missing_modules_are_refused_together() -> None:
    """All modules that the engine has not are named before anything runs."""
    head = "import fractions, math\nimport statistics\nprint('ran')"
    execution = run("return {}", head=head)
    assert rule(execution) == ("rejected", "capsule/engine")
    assert execution.error is not None
    assert execution.error["message"] == "Monty has no module fractions, statistics"
    assert (execution.level, execution.stdout) == ("none", "")
    code = f"{head}\ndef fit_and_eval(data): return {{}}"
    request = {"code": code, "allowed_imports": LISTED}
    assert check_code(request) == {"accepted": True}
    assert check_code({**request, "engine": "monty"})["accepted"] is False


def test_missing_syntax_is_refused_with_its_place() -> None:
    """Syntax that the engine has not is a rejection; nothing ran."""
    execution = run(
        "def f():\n    yield 1\nreturn {'n': sum(f())}", head="print('ran')"
    )
    assert rule(execution) == ("rejected", "capsule/engine")
    assert execution.error is not None
    assert "yield" in str(execution.error["message"])
    assert execution.error["line"] == 4
    assert (execution.level, execution.stdout) == ("none", "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 3", ("error", "capsule/result")),
        ("return {1: 2}", ("error", "capsule/result")),
        ("return {'a': {1, 2}}", ("error", "capsule/result")),
        ("return {'a': b'x'}", ("error", "capsule/result")),
        ("return {'a': lambda: 1}", ("error", "capsule/result")),
        ("x = []\nx.append(x)\nreturn {'a': x}", ("error", "capsule/result")),
        ("return {'a': 1 << 2000}", ("error", "capsule/result")),
        ("return {'a': 10 ** 5000}", ("error", "capsule/result")),
        ("return {'a': float('nan')}", ("error", "capsule/non-finite")),
        ("return {'a': [1e308 * 10]}", ("error", "capsule/non-finite")),
        ("return {'a': 'x' * 2_000_000}", ("limit", "capsule/result-size")),
        ("return {'a': [0] * 2_000_000}", ("limit", "capsule/result-size")),
        ("return {'a': ['x' * 100_000] * 100_000}", ("limit", "capsule/memory")),
        ("raise ValueError('x')", ("error", "capsule/raised")),
        ("raise NotImplementedError('x')", ("error", "capsule/raised")),
        ("raise TimeoutError('x')", ("error", "capsule/raised")),
        ("def f(): return f()\nreturn f()", ("error", "capsule/raised")),
        ("return {'a': 'x' * 10 ** 9}", ("limit", "capsule/memory")),
        ("x = []\nwhile True: x.append('a' * 1000)", ("limit", "capsule/memory")),
        ("while True: pass", ("timeout", "capsule/cpu")),
        ("import time\ntime.sleep(60)", ("timeout", "capsule/wall")),
    ],
)
def test_what_goes_wrong_has_the_rule_of_the_capsule(
    body: str, expected: tuple[str, str]
) -> None:
    """Results, exceptions and limits are judged as those of a child are."""
    time_s = 0.3 if expected[0] == "timeout" else 20
    assert rule(run(body, time_s=time_s, mem_mb=64)) == expected


def test_what_is_no_number_may_be_allowed() -> None:
    """NaN and infinities are metrics where the policy says so."""
    body = "return {'a': [1e308 * 10, float('nan')], 'b': -1e308 * 10}"
    execution = run(body, allow_non_finite=True)
    assert repr(execution.metrics) == "{'a': [inf, nan], 'b': -inf}"


def test_a_result_cannot_hide_its_size() -> None:
    """Built-in names that the program took away do not count its result."""
    head = "def len(x): return 0\ndef str(x): return ''"
    execution = run("return {'a': [0] * 2_000_000}", head=head)
    assert rule(execution) == ("limit", "capsule/result-size")


def test_an_exception_is_told_with_its_line() -> None:
    """Type, message and the last place inside the program are named."""
    code = "def f(x):\n    return x / 0\ndef fit_and_eval(data):\n    return f(1)\n"
    execution = monty().run(code, None)
    assert execution.status == "error"
    assert execution.error is not None
    assert execution.error["type"] == "ZeroDivisionError"
    assert execution.error["message"] == "division by zero"
    assert (execution.error["line"], execution.error["column"]) == (2, 12)


def test_an_entrypoint_that_takes_nothing_is_an_error_of_the_program() -> None:
    """The place that is named is the entrypoint, not the call that the capsule adds."""
    execution = monty().run("def fit_and_eval():\n    return {}\n", None)
    assert rule(execution) == ("error", "capsule/raised")
    assert execution.error is not None
    assert (execution.error["type"], execution.error["line"]) == ("TypeError", 1)


def test_names_of_the_program_are_its_own() -> None:
    """Neither data nor result take a name that a program can have; main is not run."""
    head = "data = 5\nresult = 6\nif __name__ == '__main__':\n    print('main')"
    code = f"{head}\ndef fit_and_eval(x): return {{'data': data, 'result': result}}"
    execution = monty().run(code, 1)
    assert execution.metrics == {"data": 5, "result": 6}
    assert execution.stdout == ""


def test_data_arrives_as_it_was() -> None:
    """Containers, numbers and dates keep their types."""
    data = {"t": (1, 2.5), "s": {1}, "b": b"x", "n": 2**100, "d": dt.date(2020, 1, 1)}
    body = "return {k: [type(v).__name__, str(v)] for k, v in data.items()}"
    assert run(body, data).metrics == {
        key: [type(value).__name__, str(value)] for key, value in data.items()
    }


def test_data_that_the_engine_cannot_carry_is_the_callers_error() -> None:
    """A value that Monty has no form for is refused, as is one that no capsule has."""
    with pytest.raises(ValueRefused, match="Monty cannot carry"):
        run("return {}", np.arange(3))
    with pytest.raises(ValueRefused):
        run("return {}", object())


def test_output_is_bounded() -> None:
    """As much as the policy says is kept, and that more was there is told."""
    execution = run("print('ä' * 100)\nreturn {}", max_output=7)
    assert execution.stdout == "äää\ufffd"
    assert execution.stdout_truncated
    assert not run("print('x')\nreturn {}", max_output=2).stdout_truncated


def test_the_seed_is_that_of_python() -> None:
    """Seeded numbers are those of the ordinary engine, and the same every time."""
    body = "import random\nreturn {'r': [random.random(), random.randint(1, 99)]}"
    expected = random.Random(7)  # noqa: S311 - what the seed means
    metrics = {"r": [expected.random(), expected.randint(1, 99)]}
    assert run(body, seed=7).metrics == run(body, seed=7).metrics == metrics


def test_the_clock_stands_still_if_asked() -> None:
    """A frozen clock shows the instant that it shows in the ordinary engine."""
    body = (
        "time.sleep(50)\n"
        "    return {'now': [time.time(), time.monotonic(), time.process_time(),"
        " str(datetime.datetime.now()), str(datetime.date.today())]}"
    )
    code = f"import time, datetime\ndef fit_and_eval(data):\n    {body}"
    frozen = monty(clock="frozen").run(code, None)
    ours = Capsule(Policy(allowed_imports=LISTED, clock="frozen")).run(code, None)
    assert frozen.metrics == ours.metrics
    assert frozen.environment["now"] == ours.environment["now"]


def test_the_hook_asks_for_the_engine() -> None:
    """A request names the engine; one that does not exist is refused."""
    request = {"code": GUIDE, "data": [1], "allowed_imports": ["math"]}
    assert execute_code({**request, "engine": "monty"})["level"] == "engine"
    assert execute_code(request)["level"] != "engine"
    with pytest.raises(UsageError, match="not a value for engine"):
        execute_code({**request, "engine": "lua"})


def test_many_programs_run_side_by_side() -> None:
    """Each has a worker of its own, and order is kept."""
    found = monty().run_many([(GUIDE, [n]) for n in range(8)])
    assert [e.metrics and e.metrics["total"] for e in found] == list(range(8))


def test_nothing_is_left_of_one_program_for_the_next() -> None:
    """A name that one execution set is unknown to the next."""
    assert run("return {}", head="left = 1").status == "ok"
    assert rule(run("return {'left': left}")) == ("error", "capsule/raised")


def test_without_the_package_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for and not installed, the engine is refused with what to install."""
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    monkeypatch.delitem(
        sys.modules, "muniment_plugins.capsule.engines.monty", raising=False
    )
    monkeypatch.delattr(muniment_plugins.capsule.engines, "monty", raising=False)
    with pytest.raises(RefusedError, match=r"muniment\[monty\]"):
        run("return {}")


def test_a_worker_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken installation is not a verdict about the program."""
    monkeypatch.setenv("MONTY_BIN", "/nonexistent/monty")
    with pytest.raises(CannotTellError, match="no worker of Monty"):
        run("return {}")


class Unread(Capsule):
    """Runs what it has not read: only the engine stands in the way."""

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Return the program as it is."""
        return Validated(code, entrypoint, ())


@pytest.mark.parametrize(
    "body",
    [
        "return {'x': open('/etc/passwd').read()}",
        "open('/tmp/muniment-escape', 'w').write('x')\nreturn {}",
        "import os\nreturn {'x': os.listdir('/')}",
        "import os\nreturn {'x': str(os.environ)}",
        "import os\nreturn {'x': os.getenv('MUNIMENT_SECRET', None) + ''}",
        "import os\nos.system('true')\nreturn {}",
        "import os\nos.kill(os.getppid(), 0)\nreturn {}",
        "import pathlib\nreturn {'x': pathlib.Path('/etc/passwd').read_text()}",
        "import pathlib\nreturn {'x': [str(p) for p in pathlib.Path('/').iterdir()]}",
        "import socket\nreturn {'x': socket.socket()}",
        "import subprocess\nreturn {'x': subprocess.run(['true'])}",
        "import ctypes\nreturn {}",
        "return {'x': ().__class__.__base__.__subclasses__()}",
        "return {'x': (lambda: 1).__globals__['__builtins__']}",
        "return {'x': print.__self__.open('/etc/passwd').read()}",
        "return {'x': eval('open(\"/etc/passwd\").read()')}",
    ],
)
def test_the_engine_has_nothing_of_the_host(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the language layer too, a program gets no file, process or variable."""
    monkeypatch.setenv("MUNIMENT_SECRET", "canary")
    indented = body.replace("\n", "\n    ")
    capsule = Unread(Policy(engine="monty", time_s=5))
    execution = capsule.run(f"def fit_and_eval(data):\n    {indented}\n", None)
    assert execution.status in ("error", "rejected"), execution.metrics
    assert not Path("/tmp/muniment-escape").exists()  # noqa: S108 - that nothing is there


def workers() -> list[int]:
    """Return the processes of this one that are workers of Monty."""
    tasks = Path("/proc/self/task").glob("*/children")
    numbers = [int(n) for task in tasks for n in task.read_text().split()]
    return [n for n in numbers if said_of(n, "comm") == "monty\n"]


def said_of(pid: int, name: str) -> str:
    """Return what /proc says of a process; nothing where it has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def computes(pid: int) -> bool:
    """Tell whether it has computed for longer than it takes to start."""
    fields = said_of(pid, "stat").rpartition(")")[2].split()
    return bool(fields) and sum(map(int, fields[11:13])) > os.sysconf("SC_CLK_TCK") // 2


@pytest.mark.skipif(sys.platform != "linux", reason="finds the worker in /proc")
def test_an_engine_that_dies_is_no_fault_of_the_caller() -> None:
    """The end of the worker is the end of the program, and told as such."""

    def kill() -> None:
        soon(lambda: any(map(computes, workers())))
        for number in workers():
            os.kill(number, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    code = "def fit_and_eval(data):\n    while True: pass\n"
    execution = Unread(Policy(engine="monty", time_s=300)).run(code, None)
    killer.join()
    assert rule(execution) == ("killed", "capsule/engine")
    assert run("return {}").status == "ok"


@pytest.mark.skipif(sys.platform != "linux", reason="finds the worker in /proc")
def test_a_worker_ends_with_its_execution() -> None:
    """Nothing runs on after the verdict."""
    assert run("while True: pass", time_s=0.2).status == "timeout"
    assert soon(lambda: not workers())

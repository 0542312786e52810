"""What becomes of programs: metrics, errors, output, determinism."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pluggy
import pytest

import muniment_plugins.capsule
from muniment import hookspecs
from muniment.encoding.codec import decode
from muniment.errors import RefusedError, UsageError, ValueRefused
from muniment_plugins.capsule import Capsule, Policy, execute_code
from muniment_plugins.capsule import capsule as capsule_module
from muniment_plugins.capsule.machine import Machine, machine

GUIDE = """
import math

def fit_and_eval(data):
    total = sum(data)
    mean = total / len(data) if data else 0
    return {"total": total, "mean": mean}
"""


def run(capsule: Capsule, body: str, data: object = None, head: str = "") -> object:
    """Return the error's rule, or the metrics, of a function with this body."""
    indented = body.replace("\n", "\n    ")
    code = f"{head}\ndef fit_and_eval(data):\n    {indented}\n"
    execution = capsule.run(code, data)
    return execution.error["rule"] if execution.error else execution.metrics


def test_an_execution_says_what_held_it(capsule: Capsule) -> None:
    """Level, layers, seed, usage and digests stand in the execution, as JSON."""
    execution = capsule.run(GUIDE, [1, 2])
    shown = json.loads(json.dumps(execution.to_json()))
    assert shown["level"] == machine().level != "none"
    assert shown["layers"]["verified_by_parent"] is True
    assert shown["layers"]["rlimits"]["fsize"] == 0
    assert shown["usage"]["cpu_s"] > 0
    assert shown["usage"]["max_rss_kb"] > 1000
    assert shown["seed"] == 0
    assert shown["code_digest"].startswith("sha256:")
    assert shown["environment"]["timezone"] == "UTC"
    assert (shown["exit"], shown["stderr"]) == ("answered", "")


def test_an_execution_says_how_it_ended() -> None:
    """A signal by its name; nothing where nothing ran."""
    endless = "def fit_and_eval(data):\n    while True: pass"
    stopped = Capsule(Policy(time_s=0.2)).run(endless, None)
    assert (stopped.status, stopped.exit) == ("timeout", "SIGPROF")
    assert Capsule().run("import os", None).exit is None


def test_an_execution_says_what_was_around_it() -> None:
    """Versions of what was loaded and the whole environment are told, as they were."""
    import numpy as np  # noqa: PLC0415 - only its version

    bounds = Policy(allowed_imports=("numpy",), env={"TZ": "Asia/Tokyo", "OF": "mine"})
    code = "import numpy\ndef fit_and_eval(data): return {}"
    told = Capsule(bounds).run(code, None)
    around: Any = told.environment
    assert around["packages"]["numpy"] == np.__version__
    assert around["timezone"] == "Asia/Tokyo"
    assert around["variables"]["OF"] == "mine"
    assert around["variables"]["OPENBLAS_NUM_THREADS"] == "1"
    plain: Any = Capsule().run("def fit_and_eval(d): return {}", None).environment
    assert (plain["packages"], plain["timezone"]) == ({}, "UTC")


def test_a_rejected_program_never_runs(capsule: Capsule) -> None:
    """A refusal by the language layer is a status; no child was there."""
    execution = capsule.run("import os\ndef fit_and_eval(data): return {}", None)
    assert execution.status == "rejected"
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/import"
    assert execution.error["message"] == "Import not allowed: os"
    assert (execution.level, execution.usage) == ("none", {})


def test_an_exception_is_told_with_its_line(capsule: Capsule) -> None:
    """The last place inside the program is named, with type and message."""
    code = "def f(x):\n    return x / 0\ndef fit_and_eval(data):\n    return f(1)\n"
    execution = capsule.run(code, None)
    assert execution.status == "error"
    assert execution.error is not None
    assert execution.error["type"] == "ZeroDivisionError"
    assert execution.error["message"] == "division by zero"
    assert (execution.error["line"], execution.error["column"]) == (2, 12)


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("return 3", "capsule/result"),
        ("return {1: 2}", "capsule/result"),
        ("return {'a': object()}", "capsule/result"),
        ("return {'a': {1, 2}}", "capsule/result"),
        ("return {'a': 1 << 2000}", "capsule/result"),
        ("return {'a': '\\ud800'}", "capsule/result"),
        ("x = []\nx.append(x)\nreturn {'a': x}", "capsule/result"),
        ("return {'a': float('nan')}", "capsule/non-finite"),
        ("return {'a': [1e308 * 10]}", "capsule/non-finite"),
        ("return {'a': 'x' * 2_000_000}", "capsule/result-size"),
        ("raise SystemExit(0)", "capsule/raised"),
        ("raise KeyboardInterrupt", "capsule/raised"),
        ("def f(): return f()\nreturn f()", "capsule/raised"),
        ("raise ValueError('\\ud800')", "capsule/raised"),
        (
            "class E(Exception):\n    def __str__(self): raise E\nraise E",
            "capsule/raised",
        ),
    ],
)
def test_results_that_are_none_are_errors(
    capsule: Capsule, body: str, rule: str
) -> None:
    """Whatever is not a dict of JSON values ends as an error with its rule."""
    assert run(capsule, body) == rule


NON_FINITE = """
def fit_and_eval(data):
    return {"nan": float("nan"), "list": [1e308 * 10, {"$float": "nan"}],
            "least": -1e308 * 10, "two": 2.0, "n": 2, "sum": sum(data)}
"""


def test_what_is_no_number_is_told_by_its_place(capsule: Capsule) -> None:
    """The message names the first NaN or infinity, as the program calls it."""
    execution = capsule.run(NON_FINITE, [1.5])
    assert (execution.status, execution.metrics) == ("error", None)
    assert execution.error is not None
    assert execution.error["message"] == "nan is nan, which is not a number"
    nested = "def fit_and_eval(d):\n    return {'a': [1, {'b': -1e308 * 10}]}"
    error = capsule.run(nested, None).error
    assert error is not None
    assert error["message"] == "a[1].b is -inf, which is not a number"


def test_what_is_no_number_may_be_allowed() -> None:
    """A policy that allows NaN and infinities gets them exactly, and JSON tags them."""
    request = {"code": NON_FINITE, "data": [1.5, 1], "allow_non_finite": True}
    answer: Any = json.loads(json.dumps(execute_code(request), allow_nan=False))
    execution = Capsule(Policy(allow_non_finite=True)).run(NON_FINITE, [1.5, 1])
    assert (answer["status"], answer["non_finite"]) == ("ok", True)
    assert answer["metrics"]["nan"] == {"$float": "nan"}
    shown = (
        "{'nan': nan, 'list': [inf, {'$float': 'nan'}], 'least': -inf, "
        "'two': 2.0, 'n': 2, 'sum': 2.5}"
    )
    assert repr(decode(answer["metrics"])) == repr(execution.metrics) == shown


def test_values_keep_their_types_on_the_way_in(capsule: Capsule) -> None:
    """Tuples, integral floats, sets, bytes and dates arrive as what they are."""
    import datetime as dt  # noqa: PLC0415 - only here

    data = ((1, 2.0), {"$k": {3}}, b"x", dt.date(2026, 11, 20), {1: 2}, -0.0)
    body = "return {'r': repr(data)}"
    assert run(capsule, body, data) == {"r": repr(data)}


@pytest.mark.parametrize(
    "data",
    [
        {"b": 1, "a": {"d": 0.5, "c": None}},
        [0.25, 1e-6, -5e-324, 2**53 - 1, "é{$"] * 20,
        [{"z": n, "a": [n / 3, True]} for n in range(1, 40)],
        [0.5, 2.0, *range(40)],
        [{"$b": 1, "a": 2}] * 20,
        [2**53, 2**70],
    ],
)
def test_data_arrives_in_its_own_order(capsule: Capsule, data: object) -> None:
    """Members are not sorted on the way in, and numbers keep all of their digits."""
    assert run(capsule, "return {'r': repr(data)}", data) == {"r": repr(data)}


def test_arrays_arrive_as_arrays() -> None:
    """A NumPy array goes in as its own format, never as a pickle."""
    import numpy as np  # noqa: PLC0415 - only here

    capsule = Capsule(Policy(allowed_imports=("numpy",)))
    head = "import numpy as np"
    body = "return {'s': data.sum(), 'd': str(data.dtype)}"
    array = np.arange(6, dtype="int32").reshape(2, 3)
    assert run(capsule, body, array, head) == {"s": 15, "d": "int32"}


def test_what_has_no_form_is_the_callers_error(capsule: Capsule) -> None:
    """Data that cannot be written exactly is refused before anything runs."""
    with pytest.raises(ValueRefused, match="no exact form"):
        capsule.run(GUIDE, object())


def test_output_is_kept_to_its_bound() -> None:
    """Printed text is kept up to max_output bytes, and says when it was cut."""
    capsule = Capsule(Policy(max_output=10))
    short = capsule.run("def fit_and_eval(d):\n    print('hi', 1)\n    return {}", 0)
    assert (short.stdout, short.stdout_truncated) == ("hi 1\n", False)
    code = (
        "def fit_and_eval(d):\n    for i in range(9999): print('y' * 99)\n    return {}"
    )
    long = capsule.run(code, 0)
    assert (long.status, long.stdout, long.stdout_truncated) == ("ok", "y" * 10, True)


def test_large_values_pass_both_ways(capsule: Capsule) -> None:
    """Megabytes of data and a large result are not timeout."""
    data = list(range(300_000))
    assert run(capsule, "return {'n': sum(data)}", data) == {"n": sum(data)}
    assert run(capsule, "return {'t': 'x' * 1_000_000}") == {"t": "x" * 1_000_000}


def test_equal_inputs_give_equal_results() -> None:
    """Random numbers, hashes and orders of sets repeat; another seed differs."""
    code = """
import random
import numpy as np
def fit_and_eval(data):
    return {"r": random.random(), "own": random.Random().random(),
            "np": np.random.rand(), "rng": np.random.default_rng().random(),
            "hash": hash("x"), "set": list({"a", "b", "c", "d"})}
"""
    allowed = ("numpy", "random")
    first, second = (
        Capsule(Policy(allowed_imports=allowed, seed=7)).run(code, 0) for _ in range(2)
    )
    other = Capsule(Policy(allowed_imports=allowed, seed=8)).run(code, 0)
    assert first.status == "ok"
    assert first.metrics == second.metrics
    assert first.metrics is not None
    assert other.metrics is not None
    for name in ("r", "own", "np", "rng"):
        assert first.metrics[name] != other.metrics[name]


def test_many_programs_keep_their_order(capsule: Capsule) -> None:
    """Executions side by side come back in the order of the programs."""
    code = "def fit_and_eval(data):\n    return {'n': data}"
    executions = capsule.run_many([(code, n) for n in range(12)])
    assert [e.metrics for e in executions] == [{"n": n} for n in range(12)]


def test_a_package_that_is_missing_is_told() -> None:
    """An allowed module that is not installed is an error before the program."""
    capsule = Capsule(Policy(allowed_imports=("no_such_package",)))
    execution = capsule.run("import no_such_package\ndef fit_and_eval(d): return {}", 0)
    assert execution.status == "error"
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/prepare"


def test_the_hook_answers_plain_json() -> None:
    """The request of the hook becomes a policy; the answer is JSON."""
    request = {
        "code": GUIDE,
        "data": (1, 2, 3),
        "entrypoint": "fit_and_eval",
        "allowed_imports": ["math"],
        "resources": {"time_s": 5, "mem_mb": 64},
        "seed": 3,
    }
    answer = execute_code(request)
    assert answer["metrics"] == {"total": 6, "mean": 2.0}
    assert (answer["status"], answer["seed"]) == ("ok", 3)
    with pytest.raises(UsageError, match="mem_gb means nothing"):
        execute_code({**request, "resources": {"mem_gb": 1}})
    with pytest.raises(UsageError, match="has no code"):
        execute_code({"data": 1})


def test_the_kernel_finds_the_hook() -> None:
    """The module itself is the plugin, and its hook fits the kernel's."""
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(muniment_plugins.capsule)
    manager.check_pending()
    request = {"code": GUIDE, "data": [1], "allowed_imports": ["math"]}
    answer = manager.hook.execute_code(run=None, request=request)
    assert answer["metrics"] == {"total": 1, "mean": 1.0}


def test_levels_out_of_reach_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine cannot give is refused before the code runs."""
    code = GUIDE
    monkeypatch.setattr(capsule_module, "machine", lambda: Machine("process", {}))
    for level in ("os-partial", "os-strong"):
        capsule = Capsule(Policy(allowed_imports=("math",), require=level))
        with pytest.raises(RefusedError, match=f"{level} isolation is required"):
            capsule.run(code, [1])
    capsule = Capsule(Policy(allowed_imports=("math",), require="process"))
    assert capsule.run(code, [1]).status == "ok"
    monkeypatch.setenv("MUNIMENT_REQUIRE", "os-strong")
    with pytest.raises(RefusedError, match="MUNIMENT_REQUIRE"):
        capsule.run(code, [1])
    monkeypatch.setenv("MUNIMENT_REQUIRE", "unbreakable")
    with pytest.raises(UsageError, match="not an isolation level"):
        capsule.run(code, [1])


def test_scripts_need_no_main_guard(tmp_path: Path) -> None:
    """A script that runs a capsule at its top level runs once, and the child never."""
    script = tmp_path / "script.py"
    script.write_text(
        "from muniment_plugins.capsule import Capsule\n"
        "print('once', flush=True)\n"
        "code = 'def fit_and_eval(d): return {\"n\": d}'\n"
        "print(Capsule().run(code, 4).metrics)\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "once\n{'n': 4}\n"


def test_importing_the_plugin_is_cheap() -> None:
    """The plugin manager loads the module, and none of its parts."""
    code = (
        "import sys, pluggy, muniment_plugins.capsule as c;"
        "print([m for m in sys.modules if m.startswith('muniment_plugins.capsule.')],"
        " 'subprocess' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] False\n"


def test_data_brings_the_package_that_it_is_made_of() -> None:
    """A program that does not import NumPy itself is given arrays where it may."""
    code = "def fit_and_eval(data):\n    return {'n': float(data['x'].sum())}"
    data = {"x": np.arange(4.0)}
    execution = Capsule(Policy(allowed_imports=("numpy",))).run(code, data)
    assert (execution.status, execution.metrics) == ("ok", {"n": 6.0})


def test_data_of_a_package_that_is_not_allowed_is_refused() -> None:
    """The refusal names the package and what would help; a text that looks so passes."""
    code = "def fit_and_eval(data):\n    return {'n': len(data)}"
    with pytest.raises(ValueRefused, match="made of numpy, which the program may not"):
        Capsule().run(code, [np.arange(4)])
    looks = Capsule().run(code, ['{"$ndarray":""}', {"$ndarray": "x"}])
    assert looks.metrics == {"n": 2}

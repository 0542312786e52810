"""Measure the capsule against the bare start of an interpreter, in alternation.

    make bench                                  with all other groups
    .venv/bin/python tools/bench.py capsule     alone

Rules:

- A figure is a ratio of medians on the clock: one execution, from the call to the
  execution in hand, by ``python -I -S -c pass``, which is started in turn with it.
- No two programs have the same text: what was read before is not read again.
- *Warm* has a worker that waits; *cold* starts one, the load of packages included. The
  *first of a process* has the machine probed, too; its imports are not counted.
- Every execution has all walls, is validated, checked by the parent, and its metrics
  are compared: what fails is not measured.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count

from timing import bare_start, wall

__all__ = ["bench_capsule"]

WARM = 60
COLD = 30
MANY = 400

PROGRAMS: dict[str, tuple[str, dict[str, object], str]] = {
    "pure": (
        "import math\ndef fit_and_eval(data):\n    return {'n': math.fsum(data)}",
        {"n": 6.0},
        "≤ 0.6",
    ),
    "NumPy": (
        "import numpy as np\ndef fit_and_eval(data):\n    return {'n': np.sum(data)}",
        {"n": 6},
        "≤ 0.8",
    ),
    "pandas": (
        """
import pandas as pd
def fit_and_eval(data):
    return {'n': pd.DataFrame({'x': data}).x.sum()}
""",
        {"n": 6},
        "≤ 1.3",
    ),
    "scikit-learn": (
        """
from sklearn.metrics import accuracy_score
def fit_and_eval(data):
    return {'n': accuracy_score(data, data)}
""",
        {"n": 1.0},
        "≤ 3",
    ),
}
FIRST = """
import sys, time
from muniment_plugins.capsule import Capsule, Policy
capsule = Capsule(Policy(allowed_imports=("math",)))
began = time.perf_counter()
assert capsule.run(sys.argv[1], [1, 2, 3]).metrics == {"n": 6.0}
print(time.perf_counter() - began)
"""
IMPORTS = ("math", "numpy", "pandas", "sklearn.metrics")
SIXTY_LINES = "import math\n" + "".join(
    f"""
def mean_{number}(values):
    total = 0.0
    for value in values:
        total += value * {number}
    if not values:
        return 0.0
    return {{"mean": round(total / len(values), 6), "root": math.sqrt(abs(total))}}
"""
    for number in range(7)
)
SIXTY_LINES += "\ndef fit_and_eval(data):\n    return mean_1([x for x in data if x])\n"


def _first() -> float:
    command = [sys.executable, "-c", FIRST, PROGRAMS["pure"][0]]
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - ours
    return float(done.stdout)


def _row(name: str, seconds: list[float], bare: list[float], goal: str) -> None:
    ours, base = statistics.median(seconds), statistics.median(bare)
    print(
        f"| {name} | {1000 * ours:.1f} ms | {1000 * base:.1f} ms "
        f"| {ours / base:.2f} | {goal} |",
        flush=True,
    )


def bench_capsule() -> None:
    """Print a row for each kind of program, warm and cold, and for many at once."""
    from muniment_plugins.capsule import Capsule, Policy
    from muniment_plugins.capsule.machine import machine
    from muniment_plugins.capsule.pool import pool

    capsule = Capsule(Policy(allowed_imports=IMPORTS, require=machine().level))

    numbers = count()

    def fresh(code: str) -> str:
        return f"{code}\n# {next(numbers)}\n"

    def run(name: str) -> None:
        code, metrics, _ = PROGRAMS[name]
        execution = capsule.run(fresh(code), [1, 2, 3])
        if execution.metrics != metrics:
            raise AssertionError(execution)

    for name, (_, _, goal) in PROGRAMS.items():
        run(name)
        ours, bare = _alternated(partial(run, name), WARM)
        _row(f"capsule, {name}, warm", ours, bare, goal)
    ours, bare = _alternated(partial(run, "pure"), COLD, before=pool().close)
    _row("capsule, pure, cold", ours, bare, "≤ 3")
    firsts = [_first() for _ in range(COLD)]
    _row("capsule, pure, first of a process", firsts, bare, "")
    checked = [wall(partial(capsule.validate, fresh(SIXTY_LINES))) for _ in range(WARM)]
    lines = SIXTY_LINES.count("\n")
    print(
        f"| capsule, validation of {lines} lines "
        f"| {1000 * statistics.median(checked):.2f} ms | | | ≤ 1 ms |"
    )
    programs = [(fresh(PROGRAMS["pure"][0]), [1, 2, 3]) for _ in range(MANY)]
    capsule.run_many(programs[:8])
    rates = [MANY / wall(lambda: capsule.run_many(programs)) for _ in range(3)]
    print(
        f"| capsule, executions by `run_many` | {statistics.median(rates):.0f}/s "
        "| | | ≥ 200/s |"
    )


def _alternated(
    action: Callable[[], object],
    times: int,
    before: Callable[[], object] = lambda: None,
) -> tuple[list[float], list[float]]:
    ours, bare = [], []
    for _ in range(times):
        before()
        bare.append(wall(bare_start))
        ours.append(wall(action))
    return ours, bare

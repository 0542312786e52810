"""Measure experiments against the bare start of an interpreter, in alternation.

    make bench                                  with all other groups
    .venv/bin/python tools/bench.py harness     alone

Rules:

- The example is the one of `examples/guide_example.py`: three replicates, each with one
  execution and eight of a permuted property, ledger and files included. *Again* is its
  experiment in a process and a ledger that had it before; *as a script* is all of it,
  imports and a new ledger included.
- *Beyond moving it once* is what a replicate of a million rows costs more than one of
  three, without what the capsule alone takes more for them; the median of the
  differences within a round, so that what is busy in one round does not count. Its
  CPU time is that of this process, which neither waits for disks nor for neighbours.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from timing import bare_start, wall

__all__ = ["bench_harness"]

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "guide_example.py"
ROWS = 1_000_000
ROUNDS = 11

CODE = "def fit_and_eval(data):\n    return {'n': len(data)}\n"


def _row(name: str, seconds: list[float], bare: list[float]) -> None:
    ours, base = statistics.median(seconds), statistics.median(bare)
    print(
        f"| {name} | {1000 * ours:.0f} ms | {1000 * base:.1f} ms "
        f"| {ours / base:.1f} | ≤ 10 |",
        flush=True,
    )


def bench_harness(place: Path) -> None:
    """Print a row for the example twice, and one for a million rows."""
    os.environ["MUNIMENT_PLUGINS"] = "capsule,harness"
    os.chdir(place)
    _bench_example()
    _bench_rows(place)


def _bench_example() -> None:
    scope: dict[str, object] = {"__name__": "guide_example"}
    with redirect_stdout(StringIO()):
        exec(compile(EXAMPLE.read_text(), str(EXAMPLE), "exec"), scope)  # noqa: S102 - ours
    experiment: object = scope["experiment"]
    run: Callable[..., object] = experiment.run  # type: ignore[attr-defined]
    bare: list[float] = []
    again: list[float] = []
    scripts: list[float] = []
    for _ in range(ROUNDS):
        bare.append(wall(bare_start))
        again.append(wall(partial(run, replicates=3)))
        with TemporaryDirectory() as where:
            scripts.append(wall(partial(_script, Path(where))))
    _row("the guide's example, again", again, bare)
    _row("the guide's example, as a script", scripts, bare)


def _script(where: Path) -> None:
    environment = {**os.environ, "MUNIMENT_HOME": str(where / "home")}
    command = [sys.executable, str(EXAMPLE)]
    subprocess.run(  # noqa: S603 - our own example
        command, check=True, cwd=where, env=environment, stdout=subprocess.DEVNULL
    )


def _bench_rows(place: Path) -> None:
    import muniment
    from muniment_plugins.capsule import Capsule
    from muniment_plugins.harness import (
        Experiment,
        bounded_synthesis,
        execute_capsule,
        generate_spec,
        specify_claim,
    )

    data: dict[str, list[int]] = {"few": [1, 2, 3], "many": list(range(ROWS))}
    spent: list[list[float]] = []

    def experiment(name: str) -> Experiment:
        return (
            Experiment.builder(name)
            .datasource(lambda _: data[name])
            .add_step(specify_claim(claim={"id": "rows", "text": "they are counted"}))
            .add_step(generate_spec(spec={}))
            .add_step(bounded_synthesis(code=CODE))
            .add_step(execute_capsule())
            .build()
        )

    with muniment.open(place / "rows.db", create=True) as ledger:
        for _ in range(ROUNDS):
            took: list[tuple[float, float]] = []
            for name, rows in data.items():
                took.append(_spent(partial(experiment(name).run, ledger=ledger)))
                took.append(_spent(partial(Capsule().run, CODE, rows)))
            spent.append(
                [
                    difference
                    for few, few_alone, many, many_alone in zip(*took, strict=True)
                    for difference in (many_alone - few_alone, many - few)
                ]
            )
    once, on_clock, cpu_once, of_cpu = zip(*spent, strict=True)
    print(
        f"| a replicate of {ROWS:,} rows, beyond moving it once "
        f"({1000 * statistics.median(once):.0f} ms) "
        f"| {_beyond(on_clock, once):.0f} ms, {_beyond(of_cpu, cpu_once):.0f} ms of CPU "
        "| | | ≤ 50 ms |"
    )


def _spent(action: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds on the clock of *action*, and those of CPU time."""
    began = time.process_time()
    on_clock = wall(action)
    return on_clock, time.process_time() - began


def _beyond(all_of_it: Sequence[float], moved: Sequence[float]) -> float:
    """Return the median of the differences, in milliseconds."""
    pairs = zip(all_of_it, moved, strict=True)
    return 1000 * statistics.median(whole - once for whole, once in pairs)

"""Measure muniment against the straight-line limit, in one process, side by side.

    make bench                       the table of docs/benchmarks.md
    python tools/bench.py append     one group: append, verify, start, capsule, harness, bundle,
                                     governance, workflow, evals, big

Rules:

- A figure is a ratio of medians of CPU time, with our turns and the limit's taken in
  alternation, so that a noisy neighbour hits both alike.
- The limit (``MUNIMENT_LIMIT``, a file ``ledger_limit.py``) does the same work without
  a framework: canonical JSON, DSSE signature, RFC 6962 leaf, checkpoint, SQLite insert.
  Without it the bench prints our own figures only.
- What is measured is the public API on the project's own events.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from timing import wall

HERE = Path(__file__).resolve().parent
REPEATS = int(os.environ.get("MUNIMENT_BENCH_REPEATS", "7"))
BIG = int(os.environ.get("MUNIMENT_BENCH_BIG", "1000000"))
TEXT = "reviewed by two people; the numbers hold, see the attached table " * 3


def load_limit() -> ModuleType | None:
    """Return the limit's module, or None where there is none."""
    named = os.environ.get("MUNIMENT_LIMIT")
    path = Path(named or HERE.parent.parent / "shared" / "tools" / "ledger_limit.py")
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("ledger_limit", path)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def workplace() -> Iterator[Path]:
    """Lend an empty directory with a trust home of its own."""
    place = Path(tempfile.mkdtemp(prefix="muniment-bench-"))
    os.environ["MUNIMENT_HOME"] = str(place / "home")
    os.environ["MUNIMENT_PLUGINS"] = "none"
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def cpu(action: Callable[[], object]) -> float:
    """Return the CPU seconds of *action*, children included."""
    before = time.process_time() + _children()
    action()
    return time.process_time() + _children() - before


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fresh_ledger(place: Path) -> Any:
    """Return a new ledger in a directory of its own."""
    from muniment.ledger import Ledger

    return Ledger.create(Path(tempfile.mkdtemp(dir=place)) / "ledger.db")


def note(number: int) -> tuple[str, dict[str, object]]:
    """Return a typical event: about 200 bytes of text, about 750 bytes signed."""
    return "note.added", {"text": f"{number} {TEXT}"}


def report(
    name: str, ours: list[float], theirs: list[float], n: int, goal: str
) -> None:
    """Print one row: our rate, the limit's, the ratio, the goal."""
    rate = n / statistics.median(ours)
    if not theirs:
        print(f"| {name} | {rate:,.0f}/s | | | {goal} |", flush=True)
        return
    limit = n / statistics.median(theirs)
    print(
        f"| {name} | {rate:,.0f}/s | {limit:,.0f}/s | {rate / limit:.2f} | {goal} |",
        flush=True,
    )


def bench_append(place: Path, limit: ModuleType | None) -> None:
    """Append in batches of 100, and one durable commit per event."""
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.generate()

    def limit_file() -> str:
        path = str(Path(tempfile.mkdtemp(dir=place)) / "l.db")
        connection = limit.connect(path)  # type: ignore[union-attr]
        connection.execute(limit.DDL)  # type: ignore[union-attr]
        connection.close()
        return path

    for name, count, batch, goal in (
        ("append, batches of 100, FULL, checkpoint per 100", 5000, 100, "≥ 0.65"),
        ("append, one durable commit per event", 400, 1, "≥ 0.80"),
    ):
        ours, theirs = [], []
        for _ in range(REPEATS):
            ledger = fresh_ledger(place)
            ledger.append(*note(0))
            ours.append(cpu(partial(append, ledger, count, batch)))
            ledger.close()
            if limit is not None:
                path = limit_file()
                write = partial(limit.append_full, path, key.sign, key.sign)
                theirs.append(cpu(partial(write, count, batch, "FULL")))
        report(name, ours, theirs, count, goal)


def append(ledger: Any, count: int, batch: int) -> None:
    """Append *count* notes in batches, with a checkpoint after each batch of 100."""
    for start in range(0, count, batch):
        if batch == 1:
            ledger.append(*note(start))
        else:
            ledger.append_many([note(start + i) for i in range(batch)])
            ledger.checkpoint()


def bench_verify(place: Path, limit: ModuleType | None) -> None:
    """Verify every signature, on one core and on all; and fast."""
    from cryptography.hazmat.primitives.asymmetric import ed25519

    from muniment import verify

    count = 60_000
    ledger = fresh_ledger(place)
    append(ledger, count, 100)
    path = str(ledger.path)
    ledger.close()
    key = ed25519.Ed25519PrivateKey.generate()
    theirs_path = ""
    if limit is not None:
        theirs_path = str(Path(tempfile.mkdtemp(dir=place)) / "l.db")
        connection = limit.connect(theirs_path)
        connection.execute(limit.DDL)
        connection.close()
        limit.append_full(theirs_path, key.sign, key.sign, count, 100, "NORMAL")
    public = key.public_key()

    def ours_full() -> None:
        assert verify(path).ok  # noqa: S101 - a bench of a failing verify says nothing

    def ours_fast() -> None:
        assert verify(path, fast=True).ok  # noqa: S101 - the same

    def limit_full() -> None:
        limit.verify_full(theirs_path, public.verify, public.verify)  # type: ignore[union-attr]

    def limit_fast() -> None:
        limit.verify_full(theirs_path, None, public.verify)  # type: ignore[union-attr]

    repeats = min(REPEATS, 5)
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for _ in range(repeats):
        ours.append(clocks(ours_full))
        theirs += [clocks(limit_full)] if limit else []
    name = "verify every signature"
    report(f"{name}, CPU time", column(ours, 0), column(theirs, 0), count, "≥ 0.90")
    report(f"{name}, all cores", column(ours, 1), column(theirs, 1), count, "≥ 1.80")
    ours, theirs = [], []
    for _ in range(REPEATS):
        ours.append(clocks(ours_fast))
        theirs += [clocks(limit_fast)] if limit else []
    report(
        "verify --fast, CPU time", column(ours, 0), column(theirs, 0), count, "≥ 0.60"
    )


def clocks(action: Callable[[], object]) -> tuple[float, float]:
    """Return CPU seconds, children included, and seconds on the clock."""
    began = time.perf_counter()
    spent = cpu(action)
    return spent, time.perf_counter() - began


def column(pairs: list[tuple[float, float]], which: int) -> list[float]:
    """Return one of the two clocks."""
    return [pair[which] for pair in pairs]


def bench_big(place: Path, limit: ModuleType | None) -> None:  # noqa: ARG001 - no limit
    """Measure proof, open and head, and memory of verify at a million events."""
    from muniment.ledger import Ledger

    ledger = fresh_ledger(place)
    path = ledger.path
    for start in range(0, BIG, 1000):
        ledger.append_many([note(start + i) for i in range(1000)])
    ledger.checkpoint()
    proofs = [wall(partial(ledger.prove, i * BIG // 50)) for i in range(1, 50)]
    ledger.close()
    opens = []
    for _ in range(20):
        began = time.perf_counter()
        again = Ledger.open(path)
        assert again.head.size > BIG  # noqa: S101 - what is measured has to be true
        opens.append(time.perf_counter() - began)
        again.close()
    size = path.stat().st_size / (BIG + 2)
    print(f"| inclusion proof at {BIG:,} events | {_ms(proofs)} | | | ≤ 5 ms |")
    print(f"| open and head at {BIG:,} events | {_ms(opens)} | | | ≤ 20 ms |")
    print(f"| bytes on disk per event | {size:,.0f} | | | |")
    # What getrusage tells has the memory of this process in it, which started that one.
    code = (
        "import sys; from muniment import verify; "
        "r = verify(sys.argv[1]); assert r.ok, r; "
        "status = open('/proc/self/status').read(); "
        "print(int(status.partition('VmHWM:')[2].split()[0]) // 1024, r.seconds)"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    memory, seconds = done.stdout.split()
    print(f"| memory of verify at {BIG:,} events | {memory} MB | | | ≤ 100 MB |")
    print(
        f"| verify every signature at {BIG:,} events | {float(seconds):.0f} s | | | |"
    )


def _ms(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"{1000 * statistics.median(ordered):.1f} ms (max {1000 * ordered[-1]:.1f})"


def bench_start(place: Path, limit: ModuleType | None) -> None:  # noqa: ARG001 - no limit
    """Measure interpreter starts, and the size of a small run's database."""
    from muniment.ledger import Ledger

    def start(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, *arguments], check=True, capture_output=True
        )

    command = str(Path(sys.executable).with_name("muniment"))
    bare, helped, imported = [], [], []
    for _ in range(15):
        bare.append(wall(start("-c", "pass")))
        helped.append(wall(start(command, "--help")))
        imported.append(wall(start("-c", "import muniment")))
    base = statistics.median(bare)
    for name, times, goal in (
        ("`muniment --help`, times a bare start", helped, "≤ 8"),
        ("`import muniment`, times a bare start", imported, ""),
    ):
        print(f"| {name} | {statistics.median(times) / base:.1f} x | | | {goal} |")
    ledger = Ledger.create(place / "small" / "ledger.db")
    with ledger.run("small") as run:
        for number in range(4):
            run.effect("tool", {"name": "add", "n": number}, perform=lambda r: r)
        run.record("note.added", {"text": "done"})
    size = ledger.head.size
    ledger.close()
    kilobytes = ledger.path.stat().st_size / 1000
    print(
        f"| database of a run of {size - 1} events | {kilobytes:.0f} kB | | | ≤ 100 kB |"
    )


def bench_capsule(place: Path, limit: ModuleType | None) -> None:  # noqa: ARG001 - no limit
    """Measure executions in the capsule by the start of a bare interpreter."""
    from bench_capsule import bench_capsule as bench

    bench()


def bench_bundles(place: Path, limit: ModuleType | None) -> None:  # noqa: ARG001 - no limit
    """Measure bundles of many events."""
    from bench_bundle import bench_bundle

    bench_bundle(place)


def bench_harness(place: Path, limit: ModuleType | None) -> None:  # noqa: ARG001 - no limit
    """Measure the guide's example, and what a million rows cost."""
    from bench_harness import bench_harness as bench

    bench(place)


def bench_governed(place: Path, limit: ModuleType | None) -> None:
    """Run a thousand effects under a policy, and without one."""
    from bench_governance import bench_governance

    bench_governance(place, limit, cpu)


def bench_graphs(place: Path, limit: ModuleType | None) -> None:
    """Walk graphs of stages, and a map of many items."""
    from bench_workflow import bench_workflow

    bench_workflow(place, limit, cpu)


def bench_held_runs(place: Path, limit: ModuleType | None) -> None:  # noqa: ARG001 - no limit
    """Hold a thousand recorded runs against a fixture."""
    from bench_evals import bench_evals

    bench_evals(place)


GROUPS = {
    "append": bench_append,
    "verify": bench_verify,
    "start": bench_start,
    "capsule": bench_capsule,
    "harness": bench_harness,
    "bundle": bench_bundles,
    "governance": bench_governed,
    "workflow": bench_graphs,
    "evals": bench_held_runs,
    "big": bench_big,
}


def main() -> None:
    """Print the table of the groups that were named, or of all."""
    limit = load_limit()
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"limit {'present' if limit else 'absent'}\n"
    )
    print("| measurement | muniment | limit | ratio | goal |")
    print("|---|---|---|---|---|")
    for name in sys.argv[1:] or GROUPS:
        with workplace() as place:
            GROUPS[name](place, limit)


if __name__ == "__main__":
    main()

"""What an eval costs: a thousand recorded runs, held against one fixture.

    python tools/bench.py evals
    MUNIMENT_BENCH_RUNS=200 python tools/bench.py evals      fewer runs

Rules:

- The runs walk a graph of four stages and a verifier. Recording them is not measured.
- The eval is measured from the outside: ``muniment eval`` as a process of its own, with its
  start, its signed events, and the records of the runs folded for the first time; then
  again, with these folds remembered. It is wall-clock time, the median of `REPEATS`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__ = ["bench_evals"]

RUNS = int(os.environ.get("MUNIMENT_BENCH_RUNS", "1000"))
REPEATS = 3
MUNIMENT = Path(sys.executable).with_name("muniment")


def work(given: Any) -> str:
    """Say which node it is, and on what it works."""
    return f"{given.node} worked on {len(given.artifacts)}"


def _graph() -> dict[str, Any]:
    names = ["read", "plan", "edit", "report"]
    nodes: dict[str, Any] = {one: {"handler": f"{__name__}:work"} for one in names}
    nodes["check"] = {"kind": "verify", "verify": {"assert_text": "edit worked"}}
    order = ["read", "plan", "edit", "check", "report"]
    edges = [{"from": one, "to": other} for one, other in pairwise(order)]
    return {"name": "bench", "entry": "read", "nodes": nodes, "edges": edges}


def bench_evals(place: Path) -> None:
    """Print how long an eval of many runs takes."""
    from muniment.ledger import Ledger
    from muniment_plugins.evals import run_record_fixture
    from muniment_plugins.workflow import workflow_execute

    folder = Path(tempfile.mkdtemp(dir=place))
    path = folder / "ledger.db"
    artifact = {"id": "g", "created_at": "2026-01-01T00:00:00Z", "text": "given"}
    with Ledger.create(path, plugins=("workflow", "evals")) as ledger:
        runs = [
            workflow_execute(
                ledger, "task", _graph(), [artifact], labels={"of": f"{number > 0}"}
            ).run_id
            for number in range(RUNS + 1)
        ]
        import json

        fixture = run_record_fixture(ledger, runs[0])
    (folder / "f.json").write_text(json.dumps(fixture))
    words = [
        str(MUNIMENT),
        "eval",
        "f.json",
        "of=True",
        "--ledger",
        str(path),
        "--json",
    ]
    environment = {**os.environ, "MUNIMENT_PLUGINS": "workflow,evals"}
    times: list[float] = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        done = subprocess.run(  # noqa: S603 - our own program
            words, cwd=folder, env=environment, capture_output=True, check=False
        )
        times.append(time.perf_counter() - began)
        if done.returncode or json.loads(done.stdout)["passed"] != RUNS:
            raise AssertionError((done.stderr or done.stdout).decode()[:500])
    first, again = times[0], statistics.median(times[1:])
    for what, took in (("for the first time", first), ("again", again)):
        value = f"{took:.2f} s, {RUNS / took:,.0f} a second"
        print(
            f"| an eval of {RUNS:,} runs, {what} | {value} | | | ≤ 10 s |", flush=True
        )

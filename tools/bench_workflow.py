"""What walking a graph costs: beside plain effects, beside itself, beside others.

    python tools/bench.py workflow
    MUNIMENT_BENCH_NODES=2000 python tools/bench.py workflow      a smaller large graph

Rules:

- Turns alternate; ratios are of CPU time, medians of `REPEATS` turns; large ones of one.
- A plain effect has the request that a stage has, in a run without a graph; each is
  durable before the next begins.
- The map is beside a program that writes the same events by hand, from as many threads.
- Others run in an environment of their own (``build/others``), which is no part of the
  project: ``python -m venv build/others``, then install langgraph,
  langgraph-checkpoint-sqlite and dbos there. What is not there is left out.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["bench_workflow"]

REPEATS = 5
STEPS = 500
NODES = int(os.environ.get("MUNIMENT_BENCH_NODES", "10000"))
ITEMS = int(os.environ.get("MUNIMENT_BENCH_ITEMS", "10000"))
AT_ONCE = 16
OTHERS = Path(__file__).resolve().parent.parent / "build" / "others" / "bin" / "python"
_ONE: dict[str, Any] = {"max_artifacts": 1}
Clock = Callable[[Callable[[], object]], float]


def work(given: Any) -> str:
    """Say which node it is."""
    return f"{given.node} worked"


def chain(nodes: int, context: dict[str, Any] | None) -> dict[str, Any]:
    """Return a graph of so many stages, one after the other."""
    more = {} if context is None else {"context_policy": context}
    names = [f"n{number}" for number in range(nodes)]
    return {
        "name": "chain",
        "entry": names[0],
        "nodes": {one: {"handler": f"{__name__}:work", **more} for one in names},
        "edges": [{"from": one, "to": other} for one, other in pairwise(names)],
    }


def effects(run: Any, count: int) -> int:
    """Perform as many effects as a chain has stages."""
    from muniment.programs.references import named, refer

    handler = refer(named(work))
    for number in range(count):
        request = {"handler": handler, "task": "t", "node": f"n{number}"}
        run.effect("stage", request, lambda _: "worked")
    return count


def by_hand(run: Any, items: int) -> int:
    """Write the events of a map of so many items, from as many threads."""
    from muniment.programs.references import named, refer

    handler = refer(named(work))

    def item(number: int) -> None:
        with run.scope(f"many.1/{number}").scope("body.1") as lane:
            _by_hand(lane, handler, number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(item, range(items)):
            pass
    return items


def _by_hand(lane: Any, handler: Any, number: int) -> None:
    from muniment_plugins.workflow.vocabulary import EngineFact

    said = {"node": "body", "kind": "stage", "visit": 1}
    lane.record("node.activated", EngineFact(said, cause="many"))
    chosen = {"node": "body", "selected": [], "tokens": 0}
    lane.record("context.selected", EngineFact(chosen))
    request = {"handler": handler, "task": "t", "node": "body", "item": number}
    text = lane.effect("stage", request, lambda _: "body worked")
    artifact = {
        "id": f"{lane.scope_path}#0",
        "kind": "artifact",
        "stage": "body",
        "title": "stage body output",
        "priority": 40,
        "estimated_tokens": 3,
        "text": text,
    }
    lane.record("artifact.recorded", EngineFact(artifact))
    ended = {"status": "completed", "outcome": "success", "branch": "success"}
    made = {"node": "body", "visit": 1, "produced": [artifact["id"]]}
    lane.record("node.completed", EngineFact(made, **ended))


def _ledger(place: Path) -> Any:
    from muniment.ledger import Ledger

    path = Path(tempfile.mkdtemp(dir=place)) / "ledger.db"
    return Ledger.create(path, plugins=("workflow",))


def _walked(place: Path, graph: dict[str, Any]) -> None:
    from muniment_plugins.workflow import workflow_execute

    with _ledger(place) as ledger:
        done = workflow_execute(ledger, "t", graph, seed="bench")
        done.done.raise_failure()


def _plain(place: Path, program: Callable[..., int], count: int, **how: Any) -> None:
    with _ledger(place) as ledger:
        name = "count" if program is effects else "items"
        ledger.execute(program, params={name: count}, **how).raise_failure()


def bench_workflow(place: Path, limit: ModuleType | None, clock: Clock) -> None:
    """Print what stages, maps and large graphs cost."""
    del limit
    _stages(place, clock)
    _nodes(place, clock)
    _map(place, clock)
    _others(place)


def _row(what: str, value: str, goal: str = "") -> None:
    print(f"| {what} | {value} | | | {goal} |", flush=True)


def _stages(place: Path, clock: Clock) -> None:
    turns: dict[str, list[float]] = {"plain": [], "one": [], "default": []}
    for _ in range(REPEATS):
        turns["plain"].append(clock(partial(_plain, place, effects, STEPS)))
        turns["one"].append(clock(partial(_walked, place, chain(STEPS, _ONE))))
        turns["default"].append(clock(partial(_walked, place, chain(STEPS, None))))
    plain, one, default = (statistics.median(found) for found in turns.values())
    what = f"a stage, of a chain of {STEPS}, times a plain effect"
    _row(f"{what}, context of one artifact", f"{one / plain:.2f} x", "≤ 2.5")
    _row(f"{what}, context by default", f"{default / plain:.2f} x")


def _nodes(place: Path, clock: Clock) -> None:
    for words, context in (("of one artifact", _ONE), ("by default", None)):
        small = clock(partial(_walked, place, chain(STEPS, context))) / STEPS
        large = clock(partial(_walked, place, chain(NODES, context))) / NODES
        _row(
            f"a node of a chain of {NODES:,}, times one of {STEPS}, context {words}",
            f"{large / small:.2f} x, {large * 1000:.2f} ms",
            "about 1",
        )


def _map(place: Path, clock: Clock) -> None:
    graph = {
        "entry": "many",
        "nodes": {
            "many": {
                "kind": "map",
                "handler": f"{__name__}:work",
                "map_policy": {"items": [*range(ITEMS)], "max_concurrent": AT_ONCE},
            }
        },
    }
    mine = clock(partial(_walked, place, graph))
    hand = clock(partial(_plain, place, by_hand, ITEMS))
    _row(
        f"a map of {ITEMS:,} items, {AT_ONCE} at once, times its events by hand",
        f"{mine / hand:.2f} x, {mine / ITEMS * 1000:.2f} ms each",
        "≤ 1.5",
    )


def _others(place: Path) -> None:
    """Run 1,000 steps here and with others, each in a process of its own."""
    script = Path(__file__).with_name("bench_workflow_others.py")
    for python, name in (
        (Path(sys.executable), "muniment"),
        (OTHERS, "langgraph"),
        (OTHERS, "dbos"),
    ):
        if not python.exists():
            continue
        folder = tempfile.mkdtemp(dir=place)
        ended = subprocess.run(  # noqa: S603 - our own script
            [str(python), str(script), name, folder],
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            print(ended.stderr[-2000:], file=sys.stderr)
            continue
        print(ended.stdout.strip().splitlines()[-1], flush=True)

"""One graph of 1,000 steps, by muniment or by somebody else, and how durable it is.

    python tools/bench_workflow_others.py langgraph FOLDER

Rules:

- The steps do nothing but return a text; a step is done when what it returned is in the
  database. Time includes opening the database, not imports.
- What is printed of durability is what SQLite says of the connection that was used; of one
  that nobody sees, what its file says, and SQLite's default where nobody sets another.
- The others are imported by name: they are no dependency of the project.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

STEPS = 1000


def main() -> None:
    """Run the steps, and print a row of the table."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    os.chdir(folder)
    run, told = _BY_NAME[name](folder)
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    shown = f"{wall / STEPS * 1000:.2f} ms, {cpu / STEPS * 1000:.2f} ms of CPU; {told(folder)}"
    print(f"| a step of {STEPS:,}, {name} {version(name)} | {shown} | | | |")


Made = tuple[Callable[[], None], Callable[[Path], str]]


def _muniment(folder: Path) -> Made:
    os.environ["MUNIMENT_HOME"] = str(folder / "home")
    os.environ.setdefault("MUNIMENT_PLUGINS", "workflow")
    sys.path.insert(0, str(Path(__file__).parent))
    bench = import_module("bench_workflow")
    ledger_class = import_module("muniment.ledger").Ledger
    execute = import_module("muniment_plugins.workflow").workflow_execute
    graph = bench.chain(STEPS, {"max_artifacts": 1})

    def run() -> None:
        with ledger_class.create(folder / "l.db", plugins=("workflow",)) as ledger:
            execute(ledger, "t", graph).done.raise_failure()

    return run, lambda _: "signed and chained, each commit synchronous=FULL"


def _langgraph(folder: Path) -> Made:
    graphs = import_module("langgraph.graph")
    saver = import_module("langgraph.checkpoint.sqlite").SqliteSaver
    state = import_module("typing_extensions").TypedDict("State", {"text": str})
    connection = sqlite3.connect(folder / "l.db", check_same_thread=False)

    def run() -> None:
        made = graphs.StateGraph(state)
        for number in range(STEPS):
            made.add_node(f"n{number}", lambda _: {"text": "worked"})
            made.add_edge(f"n{number - 1}" if number else graphs.START, f"n{number}")
        graph = made.compile(checkpointer=saver(connection))
        how = {"configurable": {"thread_id": "1"}, "recursion_limit": 2 * STEPS}
        graph.invoke({"text": "t"}, how, durability="sync")

    def told(_: Path) -> str:
        (mode,) = connection.execute("pragma journal_mode").fetchone()
        (safe,) = connection.execute("pragma synchronous").fetchone()
        return (
            f"a checkpoint a step (durability sync), journal {mode}, synchronous={safe}"
        )

    return run, told


def _dbos(folder: Path) -> Made:
    dbos = import_module("dbos")
    where = folder / "d.db"
    config = {"name": "bench", "system_database_url": f"sqlite:///{where}"}
    dbos.DBOS(config={**config, "run_admin_server": False, "log_level": "ERROR"})

    def work(number: int) -> str:
        del number
        return "worked"

    step = dbos.DBOS.step()(work)

    def steps() -> None:
        for number in range(STEPS):
            step(number)

    walk = dbos.DBOS.workflow()(steps)
    dbos.DBOS.launch()

    def told(_: Path) -> str:
        (mode,) = sqlite3.connect(where).execute("pragma journal_mode").fetchone()
        dbos.DBOS.destroy()
        return f"a row a step, journal {mode}, SQLite's default synchronous=FULL"

    return walk, told


_BY_NAME: dict[str, Callable[[Path], Made]] = {
    "muniment": _muniment,
    "langgraph": _langgraph,
    "dbos": _dbos,
}

if __name__ == "__main__":
    main()

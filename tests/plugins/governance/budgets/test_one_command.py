"""All runs of one command are held to its policy, and share its budget."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from pathlib import Path

import pytest

from governed_programs import policy
from muniment import Run
from muniment.errors import RefusedError, UsageError
from muniment.ledger import Ledger
from muniment.verification.verify import verify
from muniment_plugins.governance.budgets.table import budget_table
from muniment_plugins.governance.governed import VARIABLE, governed

FOUR = policy(execution_budget={"effect_limit": 4})
ASKS = """
import os, sys
from muniment.ledger import Ledger

def asks(run):
    def tool(number):
        with open(sys.argv[2], "a") as file:
            file.write("x\\n")
        return number
    return [run.effect("tool", number, tool) for number in range(3)]

with Ledger.open(sys.argv[1], home=sys.argv[1] + ".home", plugins=("governance",)) as ledger:
    ledger.execute(asks, name="inner")
"""


class Place:
    """A ledger, and a file with a line for each effect that was performed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "l.db"
        self.home = Path(f"{self.path}.home")
        self.asked = folder / "asked"
        self.asked.touch()

    def create(self) -> Ledger:
        """Make the ledger."""
        return Ledger.create(self.path, home=self.home, plugins=("governance",))

    def open(self) -> Ledger:
        """Open it once more."""
        return Ledger.open(self.path, home=self.home, plugins=("governance",))

    def tool(self, number: object) -> object:
        """Perform an effect."""
        with self.asked.open("a") as file:
            file.write("x\n")
        return number

    def asks(self, run: Run) -> object:
        """Ask three times."""
        return [run.effect("tool", number, self.tool) for number in range(3)]

    def process(self) -> subprocess.Popen[bytes]:
        """Start a process that asks three times, in a run of its own."""
        told = [sys.executable, "-c", ASKS, str(self.path), str(self.asked)]
        return subprocess.Popen(told, stderr=subprocess.DEVNULL)


def in_a_loop(place: Place, ledger: Ledger) -> None:
    """Run one after the other."""
    for _ in range(4):
        ledger.execute(place.asks)


def in_a_thread(place: Place, ledger: Ledger) -> None:
    """Run in threads."""
    threads = [threading.Thread(target=ledger.execute, args=(place.asks,))] * 1
    threads += [threading.Thread(target=ledger.execute, args=(place.asks,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_a_pool(place: Place, ledger: Ledger) -> None:
    """Run in a pool of threads, at once."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ledger.execute(place.asks), range(4)))


def in_another_context(place: Place, ledger: Ledger) -> None:
    """Run without the variables of this context."""
    for _ in range(2):
        Context().run(ledger.execute, place.asks)


def in_the_ledger_again(place: Place, _: Ledger) -> None:
    """Open the ledger a second time, in a thread."""

    def go() -> None:
        with place.open() as again:
            again.execute(place.asks)
            again.execute(place.asks)

    thread = threading.Thread(target=go)
    thread.start()
    thread.join()


def inside_a_run(place: Place, ledger: Ledger) -> None:
    """Run beside the run that starts it, which calls none of them."""

    def program(run: Run) -> object:
        in_a_thread(place, ledger)
        return place.asks(run)

    ledger.execute(program)


def in_processes(place: Place, _: Ledger) -> None:
    """Run in processes, one after the other."""
    for _number in range(2):
        place.process().wait(60)


def in_processes_at_once(place: Place, _: Ledger) -> None:
    """Run in processes that race for what is left."""
    for process in [place.process() for _ in range(3)]:
        process.wait(60)


WAYS = [
    *(in_a_loop, in_a_thread, in_a_pool, in_another_context, in_the_ledger_again),
    *(inside_a_run, in_processes, in_processes_at_once),
]


@pytest.mark.parametrize("way", WAYS)
def test_the_runs_of_one_command_share_one_budget(
    tmp_path: Path, way: Callable[[Place, Ledger], None]
) -> None:
    """Wherever they start: all are labelled, four effects are performed, tables agree."""
    place = Place(tmp_path)
    with place.create() as ledger:
        with governed(ledger, FOUR):
            way(place, ledger)
        performed = place.asked.read_text().count("x")
        runs = list(ledger.runs())
        assert len(runs) >= 2
        assert {one.labels.get("policy") for one in runs} == {FOUR.digest}
        assert performed <= 4
        if "at_once" not in way.__name__ and way is not in_a_pool:
            assert performed == 4
        tables = [budget_table(ledger, one.id) for one in runs]
        assert {one.rows[0].spent for one in tables if one} == {performed}
        assert VARIABLE not in os.environ
        ledger.execute(lambda run: run.effect("tool", 1, place.tool))
        assert place.asked.read_text().count("x") == performed + 1
    assert verify(place.path, home=place.home).ok


def test_a_fork_counts_what_was_spent_beside_its_origin(tmp_path: Path) -> None:
    """A run that was refused because of another one is not forked for a fresh budget."""
    place = Place(tmp_path)
    with place.create() as ledger:
        with governed(ledger, FOUR):
            ledger.execute(place.asks)
            second = ledger.execute(place.asks).run_id
        start = next(iter(ledger.events(run=second, type="policy.adopted"))).seq
        fork = ledger.fork(second, at=start, program=place.asks)
        table = budget_table(ledger, fork.run_id)
        assert table is not None
        assert (fork.status, table.rows[0].spent) == ("failed", 4)
    assert place.asked.read_text().count("x") == 3 + 1 + 1


def test_nobody_takes_another_policy_meanwhile(tmp_path: Path) -> None:
    """Neither in the process nor in one that it starts; the same policy is joined."""
    place = Place(tmp_path)
    with place.create() as ledger, governed(ledger, FOUR):
        with pytest.raises(RefusedError, match="already"), governed(ledger, policy()):
            pass
        with governed(ledger, FOUR):
            ledger.execute(place.asks)
        assert ledger.execute(place.asks).status == "failed"
        other = ASKS.replace(
            "    ledger.execute(asks",
            "    from governed_programs import policy\n"
            "    from muniment_plugins.governance.governed import governed\n"
            "    with governed(ledger, policy()): ledger.execute(asks",
        )
        told = [sys.executable, "-c", other, str(place.path), str(place.asked)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ended = subprocess.run(told, check=False, env=env, capture_output=True)
        assert b"policy/held" in ended.stderr
    assert place.asked.read_text().count("x") == 4


def test_a_process_that_cannot_read_its_policy_starts_no_run(tmp_path: Path) -> None:
    """What it was told is refused, and not ignored."""
    place = Place(tmp_path)
    with place.create():
        pass
    told = [sys.executable, "-c", ASKS, str(place.path), str(place.asked)]
    ended = subprocess.run(
        told, check=False, env={**os.environ, VARIABLE: "{}"}, capture_output=True
    )
    assert b"cannot be read" in ended.stderr
    assert place.asked.read_text() == ""


def test_a_policy_that_no_process_could_be_told_is_refused(tmp_path: Path) -> None:
    """Before anything runs under it."""
    place = Place(tmp_path)
    intent = {
        "source": "llm",
        "min_entropy_magnitude": "low",
        "max_entropy_magnitude": "high",
        "justification": "x" * 1000,
    }
    long = policy(nondeterminism_intent=[intent] * 120)
    with (
        place.create() as ledger,
        pytest.raises(UsageError, match="too long"),
        governed(ledger, long),
    ):
        pass

"""Programs that are another process: what a replay keeps them from is their affair."""

from __future__ import annotations

import subprocess
import sys

from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run


def prints(run: Run) -> str:
    """Let another process say something."""
    with run.unguarded("sockets"):
        return subprocess.check_output([sys.executable, "-c", "print(1)"], text=True)


def test_a_replay_names_what_the_program_is_kept_from(ledger: Ledger) -> None:
    """Guards are lifted where the program says so, and the report names those it has."""
    done = ledger.execute(prints)
    report = replay(ledger, done.run_id, prints)

    assert (report.verdict, report.guards) == ("acceptable", ("sockets",))


def test_guards_stand_around_it(ledger: Ledger) -> None:
    """Outside of the block the guards of a replay refuse as ever."""

    def program(run: Run) -> str:
        with run.unguarded("sockets"):
            pass
        return subprocess.check_output([sys.executable, "-c", "print(1)"], text=True)

    done = ledger.execute(program)
    report = replay(ledger, done.run_id, program)

    assert report.first_divergence is not None
    assert report.first_divergence.what == "guard"

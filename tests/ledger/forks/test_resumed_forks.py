"""A fork that failed by its origin's failure goes its own way when it is resumed.

Rules: the failed effect is performed, once; what the origin has after that failure, in its
scope and around, is no longer asked for; that holds for each further resume, wherever the
one before was killed.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from children import Report, die, start
from forking_programs import ends_of
from muniment.errors import EffectFailed, RefusedError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify
from steps import last_run

MOST = 20


class Errand:
    """Does things in a file; one of them fails as long as there is another file."""

    __name__ = "errand"

    def __init__(self, folder: Path, *, below: bool) -> None:
        self.log, self.down, self.below = folder / "log", folder / "down", below

    def do(self, request: object) -> object:
        """Do it."""
        if request == "risky" and self.down.exists():
            raise OSError("down")
        with self.log.open("a") as file:
            file.write(f"{request}\n")
        return request

    @property
    def done(self) -> Counter[str]:
        """What was done, and how often."""
        return Counter(self.log.read_text().split() if self.log.exists() else [])

    def __call__(self, run: Run) -> object:
        """Say how the stage went, in the scope around it, too."""
        run.effect("tool", "first", self.do)
        stage = run.scope("stage") if self.below else run
        stage.record("note.added", {"text": "starts"})
        try:
            stage.effect("tool", "risky", self.do)
            stage.record("note.added", {"text": "went well"})
        except EffectFailed:
            stage.record("note.added", {"text": "went wrong"})
            run.record("note.added", {"text": "stage failed"})
            run.effect("tool", "report", self.do)
            raise
        run.record("note.added", {"text": "stage completed"})
        return run.effect("tool", "last", self.do)


def in_doubt(ledger: Ledger, run: str) -> bool:
    """Tell whether the last request of *run* has no outcome."""
    types = [one.type for one in ledger.events(run=run) if one.type.startswith("tool.")]
    return types[-1] == "tool.requested"


def killed_at(ledger: Ledger, commit: int, act: Callable[[Ledger], object]) -> bool:
    """Tell whether *act* was killed at that *commit*, or had fewer."""

    def live(_: Report) -> None:
        with Ledger.open(ledger.path, plugins=()) as opened:
            left = [commit]

            def reached(name: str) -> None:
                left[0] -= name == "committed"
                if left[0] < 0:
                    die()

            opened.store.step = reached
            act(opened)

    return start(live).end()[0] == -signal.SIGKILL


@pytest.mark.parametrize(
    ("last", "below"), [("tool.failed", False), ("run.failed", True)]
)
def test_killed_after_each_commit(
    ledger: Ledger, tmp_path: Path, last: str, *, below: bool
) -> None:
    """Each resume after the first goes the same way; nothing else is performed twice."""
    errand = Errand(tmp_path, below=below)
    errand.down.touch()
    origin = ledger.execute(errand)
    at = next(ledger.events(run=origin.run_id, type=last)).seq
    commit, doubts = 0, 0
    while commit < MOST:
        errand.down.touch()
        fork = ledger.fork(origin.run_id, at=at, program=errand)
        assert (fork.status, str(fork.error)) == ("failed", str(origin.error))
        errand.down.unlink()
        errand.log.unlink(missing_ok=True)
        run = fork.run_id
        if not killed_at(ledger, commit, lambda one, run=run: one.resume(run, errand)):  # type: ignore[misc]
            break
        if in_doubt(ledger, run):
            doubts += 1
            with pytest.raises(RefusedError, match="its outcome is unknown"):
                ledger.resume(run, errand)
        if not any(ledger.events(run=run, type="run.completed")):
            done = ledger.resume(run, errand, repeat=["tool"])
            assert (done.status, done.value) == ("completed", "last"), done
        assert errand.done == {"risky": 1, "last": 1}
        assert replay(ledger, run, errand).verdict == "acceptable"
        commit += 1
    assert 5 < commit < MOST
    assert doubts == 2
    assert ends_of(ledger, last_run(ledger))["record"] >= 2
    report = verify(ledger.path, home=ledger.home)
    assert report.ok, str(report)

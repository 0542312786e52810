"""What hooks state beside a program is all there, however often the run is resumed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from muniment.events.effect_kinds import EffectKind
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.queries.run_summary import RunSummaries
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify


class Budget:
    """States each effect that it lets happen; all its facts are equal."""

    stated = 0

    @hookimpl
    def before_effect(self, run: Run) -> None:
        """Count it."""
        run.record("note.added", {"text": "one unit"})
        self.stated += 1


@pytest.mark.parametrize("interrupted", [False, True], ids=["failed", "interrupted"])
def test_no_fact_of_a_hook_is_lost(tmp_path: Path, interrupted: bool) -> None:
    """Six facts that a hook states, over two resumes, are six facts of the ledger."""
    performed: list[object] = []

    def work(request: object) -> object:
        performed.append(request)
        if len(performed) in (2, 4):
            raise KeyboardInterrupt if interrupted else OSError
        return request

    def program(run: Run) -> None:
        for number in range(4):
            run.effect("deed", number, work)

    budget = Budget()
    path = tmp_path / "ledger.db"
    with Ledger.create(path, plugins=Plugins((), {"budget": budget})) as ledger:
        ledger.register(EffectKind("deed", on_doubt="repeat"))
        run = ""
        for _ in range(3):
            with suppress(KeyboardInterrupt):
                _ = ledger.resume(run, program) if run else ledger.execute(program)
            (started,) = ledger.events(type="run.started")
            run = str(started.run)
        assert ledger.project(RunSummaries, run=run).status == "completed"
        facts = list(ledger.events(run=run, type="note.added"))
        assert {one.scope for one in facts} == {"plugin/budget"}
        assert (len(performed), budget.stated, len(facts)) == (6, 6, 6)
        assert replay(ledger, run, program).verdict == "acceptable"
        assert verify(path).ok

"""The view of a run with what the runs below it did, each as the view of its own.

    RunViews(ledger, normaliser, key, events).of(run)
    {…, "below": [{"call": "h.1", "view": {"stages": [{"id": "a.1", …}], …}}]}

Rules:

- A run that walks a graph is viewed as any other. A run of a program has one stage, which is
  called as the run is: its params are what it worked on, its result is what it made.
- What only one run calls so is replaced below, too: there it is above.
- The runs are verified before; one that is above itself is not entered again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.events.visibility import is_private
from muniment.formats.statement import Event
from muniment.queries.run_summary import RunSummaries
from muniment_plugins.evals.engine.called_runs import called_runs
from muniment_plugins.evals.views.calls import ToldByEvents
from muniment_plugins.evals.views.normaliser import Names, Normaliser
from muniment_plugins.evals.views.program_view import Performed, program_view
from muniment_plugins.evals.views.rows import Row
from muniment_plugins.evals.views.sealed import Private, sealed
from muniment_plugins.evals.views.view import Beside, view_of
from muniment_plugins.workflow.records.contents import Contents
from muniment_plugins.workflow.records.record import run_record
from muniment_plugins.workflow.records.run_rows import is_walk

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["RunViews"]


@dataclass(frozen=True, slots=True)
class RunViews:
    """Views runs of which *events* has the verified ones."""

    ledger: Ledger
    normaliser: Normaliser
    key: bytes | None
    events: Mapping[str, list[Event]]

    def recorded(self, run: str, shown: Row | None = None) -> tuple[Row, ToldByEvents]:
        """Return the record of *run*, with what is private sealed, and what events say.

        It is *shown* if everybody's view of it is known already.
        """
        shown = run_record(self.ledger, run) if shown is None else shown
        told = ToldByEvents(self.ledger, self.events[run], shown["stages"])
        if not told.has_private:
            return shown, told
        opened = run_record(self.ledger, run, private=True)
        return sealed(shown, opened, told.asked, told.failures()), told

    def beside(
        self,
        run: str,
        record: Row,
        told: ToldByEvents,
        around: Names | None = None,
        above: tuple[str, ...] = (),
    ) -> Beside:
        """Return what the ledger says of *run* beside its *record*."""
        below: list[Row] = []
        if record["child_runs"]:
            below = self._below(run, self.normaliser.of(record, around), above)
        return Beside(
            key=self.key,
            calls=told.calls(),
            functions=told.functions(),
            effects=told.effects.rows(),
            uncompared=told.effects.uncompared,
            below=below,
            around=around,
        )

    def _below(self, run: str, names: Names, above: tuple[str, ...]) -> list[Row]:
        inside = (*above, run)
        return [
            {"call": place, "view": self._view(child, names, inside)}
            for place, child in called_runs(self.ledger, run, self.events[run])
            if child not in inside
        ]

    def _view(self, run: str, around: Names, above: tuple[str, ...]) -> Row:
        if not is_walk(self.events[run][0]):
            return self._performed(run, around, above)
        record, told = self.recorded(run)
        beside = self.beside(run, record, told, around, above)
        return view_of(record, self.normaliser, beside)

    def _performed(self, run: str, around: Names, above: tuple[str, ...]) -> Row:
        """Return the view of a run of a program."""
        events = self.events[run]
        first, last = events[0], events[-1]
        name = self.ledger.project(RunSummaries, run=run)
        called = [child for _, child in called_runs(self.ledger, run, events)]
        names = around.inside(run, called)
        said = name.name or "run"
        told = ToldByEvents(self.ledger, events, (), said)
        program = first.raw.get("program")
        did = Performed(
            run=run,
            name=said,
            program=program if isinstance(program, str) else said,
            status=name.status,
            params=self._content(first, "params"),
            result=self._content(last, "result"),
            error=self._content(last, "message"),
            error_type=last.raw.get("error_type"),
        )
        beside = Beside(
            key=self.key,
            calls=told.calls(),
            effects=told.effects.rows(),
            uncompared=told.effects.uncompared,
            below=self._below(run, names, above),
        )
        return program_view(did, names, beside)

    def _content(self, event: Event, name: str) -> Any:
        said = Contents(self.ledger).of(event.raw.get(name))
        return Private(said) if is_private(event) else said

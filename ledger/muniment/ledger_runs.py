"""Executing, resuming, forking and canceling programs in an open ledger.

Rule: only methods that start, continue or give up a run are here, and those with which
people answer it; `Conductor` runs it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from muniment.errors import RunPaused
from muniment.formats.statement import Event
from muniment.gates import LedgerPort
from muniment.ledger_reads import LedgerReads
from muniment.programs.functions import Program
from muniment.runs import execution
from muniment.runs.conductor import Conductor
from muniment.runs.context import RunContext
from muniment.runs.execution import Done
from muniment.runs.modes.doubt import Doubts
from muniment.runs.resume import Resumption
from muniment.runs.tree.cancel import cancel
from muniment.runs.tree.child_runs import ChildRuns
from muniment.runs.tree.fork import Forking
from muniment.runs.waits.inbox import Inbox, PendingDecision
from muniment.storage.open import Opened

__all__ = ["LedgerRuns"]


class LedgerRuns(LedgerReads):
    """The half of a `Ledger` that runs programs."""

    def __init__(self, opened: Opened, port: LedgerPort) -> None:
        super().__init__(opened, port)
        self._conductor = Conductor(self._store.checkpoint, port.left)
        port.children = ChildRuns(self, self._conductor)
        port.inbox = Inbox(port, self._store)
        port.reader = weakref.ref(self)

    def execute(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        program: Program,
        *,
        params: Mapping[str, object] | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        tenant: str = "default",
        mode: Literal["live", "dry"] = "live",
        seed: str | None = None,
    ) -> Done:
        """Run *program* and record it; the result has any error that it raised.

        Raises:
            KeyboardInterrupt: the user interrupted the run, which can be resumed.

        """
        execution.refuse_async(program)
        settled, recording = self._port.start(
            program, params, name, labels, tenant, mode, seed
        )
        return self._conductor.conduct(recording, program, settled)

    async def aexecute(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        program: Program,
        *,
        params: Mapping[str, object] | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        tenant: str = "default",
        mode: Literal["live", "dry"] = "live",
        seed: str | None = None,
    ) -> Done:
        """Like `execute`, for an async *program*."""
        settled, recording = self._port.start(
            program, params, name, labels, tenant, mode, seed
        )
        return await self._conductor.aconduct(recording, program, settled)

    def run(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        tenant: str = "default",
        seed: str | None = None,
    ) -> RunContext:
        """Open a run for the body of a ``with`` or ``async with`` statement."""
        _, recording = self._port.start(None, None, name, labels, tenant, "live", seed)
        return RunContext(recording, self._conductor.ending)

    def resume(
        self,
        run: str,
        program: Program | None = None,
        *,
        take_over: bool = False,
        decide: Callable[[str, object], str] | None = None,
        repeat: Iterable[str] = (),
    ) -> Done:
        """Continue a run that was cut off; completed effects are not performed again.

        Args:
            run: the run's id, or a unique prefix.
            program: needed if it cannot be imported by its recorded name.
            take_over: resume it even if its owner seems to be alive.
            decide: called about an effect with an unknown outcome if its kind says
                ``ask``; it gets kind and request, and returns ``repeat`` or ``refuse``.
            repeat: kinds whose effects in doubt are performed again, whatever they
                declare.

        While the run waits for people who have not decided, it stays *paused*; nothing is
        written, and the program is not called.

        Raises:
            RefusedError: the run is complete, owned by somebody alive, or in doubt.

        """
        doubts, run = Doubts.of(decide, repeat), self.run_id(run)
        try:
            going = Resumption.take(self, run, program, take_over, doubts)
        except RunPaused as pause:
            return Done.paused(run, pause)
        return self._conductor.conduct(going.recording, going.program, going.params)

    async def aresume(
        self,
        run: str,
        program: Program | None = None,
        *,
        take_over: bool = False,
        decide: Callable[[str, object], str] | None = None,
        repeat: Iterable[str] = (),
    ) -> Done:
        """Like `resume`, for an async program."""
        doubts, run = Doubts.of(decide, repeat), self.run_id(run)
        try:
            going = Resumption.take(self, run, program, take_over, doubts, awaits=True)
        except RunPaused as pause:
            return Done.paused(run, pause)
        return await self._conductor.aconduct(
            going.recording, going.program, going.params
        )

    def fork(
        self,
        run: str,
        *,
        at: int,
        changes: Mapping[int, object] | None = None,
        program: Program | None = None,
    ) -> Done:
        """Start a new run that another one answers up to an event; then it is live.

        Args:
            run: the other run's id, or a unique prefix.
            at: the number of one of its events: effects that ended by then are answered.
            changes: number of an outcome, at or before *at* → another value of it.
            program: needed if it cannot be imported by its recorded name.

        Raises:
            UsageError: the run has no such event, or no such outcome to change.
            WrongError: the other run's record does not verify; nothing was written.

        """
        going = Forking.begin(self, self.run_id(run), at, changes or {}, program)
        return self._conductor.conduct(going.recording, going.program, going.params)

    async def afork(
        self,
        run: str,
        *,
        at: int,
        changes: Mapping[int, object] | None = None,
        program: Program | None = None,
    ) -> Done:
        """Like `fork`, for an async program."""
        going = Forking.begin(
            self, self.run_id(run), at, changes or {}, program, awaits=True
        )
        return await self._conductor.aconduct(
            going.recording, going.program, going.params
        )

    def cancel(self, run: str, reason: str = "") -> Event:
        """Give *run* up with its children, whoever owns it; the owner is fenced. Final.

        Raises:
            RefusedError: the run is complete or canceled.

        """
        return cancel(self, self.run_id(run), reason)

    # -- decisions of people -------------------------------------------------------

    def pending(self) -> tuple[PendingDecision, ...]:
        """Return the decisions that people have not made yet, the oldest first."""
        return self._port.inbox.pending()

    def answer(self, signed: bytes) -> Event:
        """Append an answer that an approver signed, as `PendingDecision.sign` gives it.

        A refusal is recorded, too.

        Raises:
            RefusedError: it does not count; the rule says why.

        """
        return self._port.inbox.answer(signed)

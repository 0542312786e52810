"""Runs that runs call: a child is begun or resumed, or was complete already.

    child.requested      in the parent; its idempotency key names the child
      run.started        in the child: {"parent": {"run": …, "root": …, "key": …}}
      …
      run.completed
    child.completed      in the parent: the value, with the child's id and last leaf

Rules:

- A further attempt at the same call looks for the child by the key. A completed child is
  verified, and its result taken; any other is taken over and resumed: nobody alive owned
  it when the parent was resumed, or whoever did so took that over, too.
- A child that pauses pauses its parent. A child that is interrupted or in doubt
  interrupts its parent. A child that fails raises in its parent, and is resumed when the
  parent, which ended by that failure, is resumed. A child that says that nobody needs it
  (`RunUnneeded`) is canceled, and fails in its parent.
- The child's seed follows from its parent's, the scope, and the number of earlier calls
  in it: not from the ordinal, which changes in a resume.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, cast

from muniment.errors import EffectInDoubt, RunPaused
from muniment.formats.lifecycle import COMPLETED
from muniment.formats.statement import BlobRef, Event, Place, Subject
from muniment.recorded.descent import child_of, subjects_of
from muniment.runs.conductor import Conductor
from muniment.runs.execution import Done
from muniment.runs.recording import Recording
from muniment.runs.resume import Resumption, verified_run
from muniment.runs.seams import EffectState
from muniment.runs.waits.called_run import CalledRun
from muniment.storage.lookup import events_of_run

if TYPE_CHECKING:
    from muniment.ledger_reads import LedgerReads

__all__ = ["ChildRuns"]


def _as_child(
    call: EffectState, child: Recording, fields: dict[str, object]
) -> tuple[Subject, ...]:
    """Make *child* what was called, say so in *fields*, and return the subjects."""
    parent, key = call.recording, call.idempotency_key
    child.descend(parent)
    _inherit(call, child)
    root = child.ancestors[-1]
    fields["parent"] = {"run": parent.run_id, "root": root, "key": key}
    return subjects_of(parent.run_id, key)


def _inherit(call: EffectState, child: Recording) -> None:
    """Keep *child* private, if the *call* of it is."""
    if call.recording.privacy.covers(call.place, call.asked.type.name):
        child.privacy.keep("")


class ChildRuns:
    """Conducts the runs that runs of one ledger call."""

    def __init__(self, ledger: LedgerReads, conductor: Conductor) -> None:
        self._ledger = weakref.ref(ledger)
        self._conductor = conductor

    @property
    def ledger(self) -> LedgerReads:
        """The ledger, which the caller of a program keeps alive."""
        return cast("LedgerReads", self._ledger())

    def conduct(self, call: EffectState, called: CalledRun) -> object:
        """Run what was *called* by the effect *call* to its end; return its result."""
        if (end := self._completed(call)) is not None:
            return self._value(call, end)
        going = self._take(call, called, awaits=False)
        try:
            done = self._conductor.conduct(going.recording, going.program, going.params)
        except EffectInDoubt as error:
            raise call.recording.halt(error) from None
        finally:
            call.halts = going.recording.fatal.is_struck
        return _came_of(call, going.recording, done)

    async def aconduct(self, call: EffectState, called: CalledRun) -> object:
        """Do as `conduct` does, for a program that may be asynchronous."""
        if (end := self._completed(call)) is not None:
            return self._value(call, end)
        going = self._take(call, called, awaits=True)
        try:
            done = await self._conductor.aconduct(
                going.recording, going.program, going.params
            )
        except EffectInDoubt as error:
            raise call.recording.halt(error) from None
        finally:
            call.halts = going.recording.fatal.is_struck
        return _came_of(call, going.recording, done)

    def _known(self, call: EffectState) -> str | None:
        """Return the child that an earlier attempt at *call* began."""
        if call.recorded is None:
            return None
        database, parent = self.ledger.store.database, call.recording.run_id
        return child_of(database, parent, call.idempotency_key)

    def _completed(self, call: EffectState) -> Event | None:
        """Return the end of the child, if an earlier attempt completed it, verified."""
        run, database = self._known(call), self.ledger.store.database
        if run is None or not any(events_of_run(database, run, 0, COMPLETED)):
            return None
        record, _ = verified_run(self.ledger, run)
        return next((one for one in record.events if one.type == COMPLETED), None)

    def _value(self, call: EffectState, end: Event) -> object:
        call.about = {"run": end.run, "leaf": end.hash}
        call.recording.privacy.answer(call.inside, end)
        result = end.data.get("result")
        return self.ledger.value(result) if isinstance(result, BlobRef) else None

    def _take(
        self, call: EffectState, called: CalledRun, *, awaits: bool
    ) -> Resumption:
        """Begin the child, or take it over from its earlier owner."""
        parent, ledger = call.recording, self.ledger
        known = self._known(call)
        if known is not None:
            going = Resumption.take(
                ledger,
                known,
                called.program,
                True,
                parent.doubts,
                awaits=awaits,
                parent=parent,
            )
            _inherit(call, going.recording)
            return going
        params, recording = ledger.port.start(
            called.program,
            called.params,
            called.name,
            None,
            parent.facts.tenant,
            "live",
            called.seed,
            of=partial(_as_child, call),
            parent=parent,
        )
        return Resumption(recording, called.program, params)


def _came_of(call: EffectState, child: Recording, done: Done) -> object:
    """Return the result of the child; stop the parent, or fail, if there is none."""
    if done.pause is not None:
        pause = done.pause
        reason = f"child run {child.run_id}: {pause.reason}"
        above = RunPaused(reason, pause.waits_for)
        above.is_private = pause.is_private
        raise call.recording.stop(call.place.scope, above)
    if child.privacy.covers(Place(child.run_id, ""), COMPLETED):
        call.recording.privacy.keep(call.inside)
    call.about = {"run": child.run_id, "leaf": child.leaf}
    return done.result

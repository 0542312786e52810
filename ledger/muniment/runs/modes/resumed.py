"""The mode of a resume: the record answers what it has, then the program goes live.

    resume   answers the recorded part, then performs and writes

Rules:

- A completed effect is answered. The effect whose failure ended the run is performed as a
  new attempt; the program handled every other failure, so these are answered. A request
  without an outcome is in doubt, and its kind says what happens then.
- If the record holds parts of an answer and later events, but no end, a resume gives
  these parts, and the effect fails after them; without later events, the request is in
  doubt.
- A resume cannot answer a secret, which is in no record: such an effect is in doubt, too.
- What plugins do in their lanes (below ``plugin/``) is new: no hook is asked about an
  answered effect, so the first that one does here is not the first in the record. Only
  an effect in doubt is found again.
- The record comes first: a program that states another fact than the next one of its
  scope, or does something new while the record has more, differs. It is stopped before
  anything is performed. While several threads or tasks of it run, another one may still
  come to what is recorded: then its end decides (`muniment.runs.flow`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from muniment.events.types import Prepared
from muniment.recorded.compare import is_compared, is_of_plugin
from muniment.recorded.items import Item
from muniment.recorded.links import ComparedFact, stated
from muniment.recorded.run import Recorded
from muniment.runs.flow import ProgramFlow
from muniment.runs.modes.answering import Answering
from muniment.runs.modes.doubt import Doubts, in_doubt

if TYPE_CHECKING:
    from muniment.events.effect_kinds import EffectKind
    from muniment.runs.seams import EffectState, RunState

__all__ = ["Resume"]


class Resume(Answering):
    """Answers what was recorded before the run was cut off, then performs and writes."""

    name = "resume"
    flow: ProgramFlow

    def __init__(self, record: Recorded, *, doubts: Doubts) -> None:
        super().__init__(record)
        self.doubts = doubts

    def begin(self) -> None:
        """Begin to follow the program's threads and tasks."""
        self.flow = ProgramFlow()

    def fact(
        self,
        run: RunState,
        scope: str,
        kind: str,
        data: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Find the fact, or let it be new; what a plugin states always is new.

        Hooks are asked only about new facts: an equal recorded one is not new.
        """
        facts = self.stated(prepared)
        item = None if is_of_plugin(scope) else self.match_fact(scope, kind, facts)
        if item is None:
            super().fact(run, scope, kind, data, prepared)
            due = self.record.due(scope, effect=False)
        else:
            due = self.record.due_fact(scope, item.event.seq)
        self._require_turn(run, due, scope, kind, facts)
        return item

    def request(
        self,
        run: RunState,
        scope: str,
        kind: EffectKind,
        key: str,
        fields: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Find the effect, or let it be new; of a plugin, find what is in doubt."""
        if is_of_plugin(scope):
            item = self.record.find_in_doubt(scope, key)
            if item is not None:
                self.record.use(item)
        else:
            item = self.match_effect(scope, kind.name, key)
        if item is None:
            super().request(run, scope, kind, key, fields, prepared)
            due = self.record.due(scope, effect=True)
            asked = prepared.type.name
            got = stated(prepared, private=run.privacy.holds(scope))
            self._require_turn(run, due, scope, asked, got)
        return item

    def salt(self, run: RunState, scope: str) -> str:
        """Return the leaf hash of the resumption, for the lane of a plugin."""
        return self.record.events[-1].hash if is_of_plugin(scope) else ""

    def _require_turn(
        self,
        run: RunState,
        due: Item | None,
        scope: str,
        kind: str,
        got: ComparedFact,
    ) -> None:
        """Diverge if something recorded is *due* before this, and nobody else may come to it.

        What a performer or a plugin states is not compared.
        """
        if due is None or not is_compared(scope):
            return
        ordered = due.scope == scope and scope in run.ordered
        if ordered or self.flow.is_alone():
            self.differs(run, self.record.difference(due, scope, kind, got))

    def answers(self, call: EffectState, item: Item) -> bool:
        """Answer what is known and may be answered; perform the fatal failure again."""
        record, lost = self.record, item.outcome is None
        cut_off = lost and record.went_on(item)
        told = item.streamed if lost else [item.outcome]
        lacks = call.kind.names_secrets and any(
            call.kind.holds_secret(record.data(event)) for event in told if event
        )
        open_ = not cut_off and (lost or record.was_cut_off(item))
        fatal = not (cut_off or item.completed) and record.was_fatal(item)
        call.cut_off = cut_off and not lacks
        if not (open_ or fatal or lacks):
            return not call.cut_off
        self.require_turn_of(call, item)
        if open_ or not fatal:
            self._settle(call, item, "outcome" if open_ else "secret")
        return False

    def require_turn_of(self, call: EffectState, item: Item) -> None:
        """Diverge if something is due before the effect *item*, which is performed."""
        run, scope, before = call.recording, call.place.scope, item.event.seq
        due = self.record.due(scope, effect=True, before=before)
        asked = call.asked
        self._require_turn(run, due, scope, asked.type.name, stated(asked))

    def _settle(self, call: EffectState, item: Item, of: str) -> None:
        """Refuse the effect, unless the decision is to perform it again."""
        doubt = self.doubts.settle(call.kind, call.request, of)
        if doubt["decision"] == "refuse":
            place = f"run {call.recording.run_id}, event {item.event.seq}"
            raise call.recording.halt(in_doubt(call.kind, place, doubt))
        call.doubt = doubt

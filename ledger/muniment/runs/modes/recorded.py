"""The modes of a run that has a record, which answers it and is compared with it.

    replay   answers from the record alone, and writes nothing

Rules:

- In a replay an effect is answered from the record; a reproducible one is performed
  again and its outcome compared. The program gets the record's words for what is not
  compared.
- A strict replay stops the program where it differs. Any other replay continues: a
  request that the record lacks gets the next unused answer of its kind in its scope, and
  the program gets its own outcome where that differs. It stops if no such answer is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import AppendRefused, CannotTellError
from muniment.events.types import Prepared
from muniment.formats.statement import Event
from muniment.recorded.compare import comparable, is_compared, outcome_difference
from muniment.recorded.divergence import Divergence, several
from muniment.recorded.items import Item
from muniment.recorded.run import Recorded
from muniment.runs.modes.live import Mode

if TYPE_CHECKING:
    from muniment.events.effect_kinds import EffectKind
    from muniment.runs.seams import Asking, EffectState, RunState

__all__ = ["Answering", "Replay", "Seen"]


@dataclass(slots=True)
class Seen:
    """A fact or a request of a replayed program, and what it got.

    What equals the record is not kept a second time.
    """

    scope: str
    type: str
    item: Item | None = None
    """The recorded fact or effect that it equals, or that answered it."""
    data: dict[str, JsonValue] | None = None
    """Its data, if no recorded item has the same."""
    outcome: tuple[str, dict[str, JsonValue]] | None = None
    """Type and data of its outcome, if it was performed again and differs."""
    refused: Event | None = None
    """The recorded refusal that it ran into."""
    asks: bool = False
    """Whether it is a request."""


class Answering(Mode):
    """A mode that answers from a record."""

    is_held = True
    tolerant = False
    """Whether the program continues after a difference, wherever the record allows."""

    def __init__(self, record: Recorded) -> None:
        self._record = record
        self.compared = 0
        """How many facts and requests were compared with the record."""
        self.divergences: list[Divergence] = []

    @property
    def record(self) -> Recorded:
        """The record that answers the run, and that it is compared with."""
        return self._record

    def match_fact(
        self, scope: str, kind: str, facts: dict[str, JsonValue]
    ) -> Item | None:
        """Use up the recorded fact that equals this one; None if there is none.

        Raises:
            AppendRefused: a plugin refused it.

        """
        item = self.record.find_fact(scope, kind, facts)
        return self._matched(scope, kind, item)

    def match_effect(self, scope: str, kind: str, key: str) -> Item | None:
        """Use up the next recorded effect with this key; None if there is none.

        Raises:
            AppendRefused: a plugin refused the request.

        """
        item = self.record.find_effect(scope, key)
        return self._matched(scope, f"{kind}.requested", item)

    def _matched(self, scope: str, kind: str, item: Item | None) -> Item | None:
        self.require_unrefused(scope, kind, item)
        if item is not None:
            self.compared += is_compared(scope) or bool(item.kind)
            self.record.use(item)
        return item

    def require_unrefused(
        self, scope: str, kind: str, found: Item | None = None
    ) -> None:
        """Refuse what a plugin refused in the record before the item *found* there.

        Raises:
            AppendRefused: a plugin did, with the recorded reason.

        """
        refused = self.record.refusal(scope, kind, found)
        if refused is not None:
            self.compared += is_compared(scope)
            self.ran_into(scope, kind, refused)
            told = self.record.data(refused)
            plugin, reason = cast("str", told["plugin"]), cast("str", told["reason"])
            raise AppendRefused.by_plugin(plugin, reason)

    def ran_into(self, scope: str, kind: str, refused: Event) -> None:
        """Notice that a recorded refusal is answered."""

    def refuse_fact(
        self, run: RunState, scope: str, kind: str, facts: dict[str, JsonValue]
    ) -> None:
        """Diverge, since the record lacks this fact.

        What a performer or a plugin states is not compared.
        """
        if not is_compared(scope):
            return
        expected = self.record.next_in(scope, effect=False)
        found = self.record.difference(expected, scope, kind, facts)
        if not self.tolerant:
            self.differs(run, found)
        self.divergences.append(found)
        if expected is not None and expected.event.type == kind:
            self.record.use(expected)

    def differs(self, run: RunState, found: Divergence) -> NoReturn:
        """Remember the difference, and stop the program with it."""
        self.divergences.append(found)
        super().differs(run, found)

    def declare(self, run: RunState, found: Divergence) -> NoReturn:
        """Report the difference, and stop the program with it."""
        self.tell("differs", found.to_json())
        self.differs(run, found)

    def param(
        self, run: RunState, name: str, was: object, now: object, *, warns: bool
    ) -> None:
        """Compare the parameter with the recorded one; each member is a finding."""
        found = self.record.param("program" if warns else "params", name, was, now)
        self.divergences += found
        for one in found:
            self.tell("differs", one.to_json())
        if found and not (warns or self.tolerant):
            raise run.halt(several(found, run.run_id))

    def tell(self, *what: object) -> None:
        """Tell an outside judge what the program does."""

    def finish(self, run: RunState) -> None:
        """Diverge if the record has more than the program did."""
        if left := self.record.unused():
            self.differs(run, left[0].missing)


class Replay(Answering):
    """Answers from the record alone, and says where the program differs from it."""

    name = "replay"
    writes = False
    replays = True

    def __init__(self, record: Recorded, *, tolerant: bool) -> None:
        super().__init__(record)
        self.tolerant = tolerant
        self.gaps: list[Divergence] = []
        """What the record says it lacks."""
        self.secret_since: int | None = None
        """How many differences there were at the first answer without its secret."""
        self.stopped_at = ("", 0)
        """Scope and event of the recorded effect where another request stopped it."""
        self.seen: list[Seen] = []
        """What the program stated and asked, in its order."""
        self.told: list[Divergence] = []
        """Differences that only the program's side can see."""
        self._asked: dict[tuple[str, int], Seen] = {}
        self.guards: tuple[str, ...] | None = None
        """The guards of a program that keeps them itself."""
        self.permit: Callable[[], AbstractContextManager[object]] = nullcontext
        """Lifts the guards."""
        self.witness: Callable[[list[object]], None] | None = None
        """Hears what the program does, if another process judges it."""

    def tell(self, *what: object) -> None:
        """Tell the witness, if there is one; a fact's data as it is compared."""
        if self.witness is not None:
            self.witness(
                [comparable(one) if isinstance(one, Prepared) else one for one in what]
            )

    def match_fact(
        self, scope: str, kind: str, facts: dict[str, JsonValue]
    ) -> Item | None:
        """Use up the recorded fact that equals this one, and remember what was stated."""
        item = super().match_fact(scope, kind, facts)
        self.seen.append(Seen(scope, kind, item, facts if item is None else None))
        return item

    def match_effect(self, scope: str, kind: str, key: str) -> Item | None:
        """Use up the next recorded effect with this key, and remember the request."""
        item = super().match_effect(scope, kind, key)
        if item is not None:
            self._ask(Seen(scope, f"{kind}.requested", item, asks=True))
        return item

    def _ask(self, asked: Seen) -> None:
        self.seen.append(asked)
        if asked.item is not None:
            self._asked[asked.item.scope, asked.item.ordinal] = asked

    def ran_into(self, scope: str, kind: str, refused: Event) -> None:
        """Remember that the program ran into a refusal."""
        self.seen.append(Seen(scope, kind, refused=refused))

    def declare(self, run: RunState, found: Divergence) -> NoReturn:
        """Report the difference, and stop the program with it."""
        self.told.append(found)
        super().declare(run, found)

    def param(
        self, run: RunState, name: str, was: object, now: object, *, warns: bool
    ) -> None:
        """Compare the parameter, and remember each member that differs."""
        before = len(self.divergences)
        try:
            super().param(run, name, was, now, warns=warns)
        finally:
            self.told += self.divergences[before:]

    def fact(
        self,
        run: RunState,
        scope: str,
        kind: str,
        data: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Find the fact, or diverge."""
        self.tell("fact", scope, kind, prepared)
        facts = comparable(prepared)
        item = self.match_fact(scope, kind, facts)
        if item is None:
            super().fact(run, scope, kind, data, prepared)
            self.refuse_fact(run, scope, kind, facts)
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
        """Find the effect, or another in its place, or diverge."""
        self.tell("effect", scope, kind.name, kind.reproducible, prepared)
        item = self.match_effect(scope, kind.name, key)
        if item is None:
            super().request(run, scope, kind, key, fields, prepared)
            item = self.in_place(run, scope, kind.name, comparable(prepared))
        return item

    def in_place(
        self, run: RunState, scope: str, kind: str, got: dict[str, JsonValue]
    ) -> Item:
        """Use up the effect that was recorded in place of this request, or diverge.

        A tolerant replay takes the next effect of that kind: its outcome is the answer.
        """
        found = self.record.next_in(scope, effect=True, kind=kind)
        if found is None or not self.tolerant:
            found = self.record.next_in(scope, effect=True)
            differs = self.record.difference(found, scope, f"{kind}.requested", got)
            self._ask(Seen(scope, f"{kind}.requested", None, got, asks=True))
            self.stopped_at = scope, differs.position
            self.differs(run, differs)
        self.divergences.append(
            self.record.difference(found, scope, f"{kind}.requested", got)
        )
        self.record.use(found)
        self._ask(Seen(scope, f"{kind}.requested", found, got, asks=True))
        return found

    def answers(self, call: EffectState, item: Item) -> bool:
        """Answer everything but reproducible effects that were performed."""
        try:
            item.settled(call.recording.run_id)
        except CannotTellError as error:
            raise call.recording.halt(error) from None
        return not call.kind.reproducible or item.cancelled or item.is_gated

    def admit_outcome(
        self, run: RunState, kind: str, data: Mapping[str, object]
    ) -> None:
        """Ask nobody: an outcome that was refused is answered."""

    def consult(self, call: EffectState) -> Asking:
        """Ask nobody: what is performed again is compared."""
        yield from ()
        return None

    def outcome(self, call: EffectState, prepared: Prepared, *, held: bool) -> None:
        """Compare the outcome with the recorded one."""
        kind = prepared.type.name
        self.tell("outcome", call.place.scope, call.place.ordinal, kind, prepared)
        item = cast("Item", call.recorded)
        call.differs = self.compare_outcome(
            call.recording, item, kind, comparable(prepared)
        )

    def compare_outcome(
        self, run: RunState, item: Item, kind: str, outcome: dict[str, JsonValue]
    ) -> bool:
        """Tell whether *outcome* differs from the recorded one, or diverge.

        A tolerant replay continues with what was performed.
        """
        recorded = item.settled(run.run_id)
        told = (recorded.type, self.record.data(recorded)), (kind, outcome)
        difference = outcome_difference(*told, run.port.hide)
        if difference is None:
            return False
        found = Divergence("outcome", item.scope, recorded.seq, *difference)
        if (asked := self._asked.get((item.scope, item.ordinal))) is not None:
            asked.outcome = kind, outcome
        if not self.tolerant:
            self.differs(run, found)
        self.divergences.append(found)
        return True

    def worded(self, call: EffectState, name: str, made: JsonValue) -> JsonValue:
        """Return what the record has, if help may be worded differently today."""
        if call.differs or not call.kind.helps:
            return made
        return self.record.content(call.recorded_outcome, name)

    def answered(self, kind: EffectKind, data: dict[str, JsonValue]) -> None:
        """Notice that a missing secret may cause differences from here on."""
        if self.secret_since is None and kind.holds_secret(data):
            self.secret_since = len(self.divergences)

    def lacks(self, scope: str, kind: str, what: str) -> None:
        """Find the facts that say so."""
        self.tell("lacks", scope, kind, what)
        self.gaps += self.record.gaps(scope, kind, what)

    def performing(self) -> AbstractContextManager[object]:
        """Lift the guards while a reproducible effect is performed."""
        return self.permit()

    def unguarded(self, guards: tuple[str, ...]) -> AbstractContextManager[object]:
        """Lift the guards; the report names only *guards*."""
        self.guards = guards
        return self.permit()

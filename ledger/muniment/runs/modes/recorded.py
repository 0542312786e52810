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

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, MunimentError
from muniment.events.types import Prepared
from muniment.events.visibility import PRIVATE
from muniment.formats.statement import Event
from muniment.recorded.compare import (
    comparable,
    is_compared,
    outcome_difference,
)
from muniment.recorded.divergence import Divergence
from muniment.recorded.items import Item, Seen
from muniment.recorded.lacking import lacking, untold
from muniment.recorded.links import ComparedFact, stated
from muniment.recorded.run import Recorded
from muniment.runs.modes.answering import Answering

if TYPE_CHECKING:
    from muniment.events.effect_kinds import EffectKind
    from muniment.runs.seams import Asking, EffectState, RunState

__all__ = ["Lacked", "Replay"]


@dataclass(frozen=True, slots=True)
class Lacked:
    """What the program said that this machine lacks, and when it first did."""

    since: int
    """How many differences there were before."""
    says: str


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
        self.lacked: Lacked | None = None
        """What this machine lacks, if the program first differed by saying so."""
        self.is_another = False
        """Whether the program is not the recorded one: what it lacks, that may not have
        needed."""
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

    def refuse_fact(
        self, run: RunState, scope: str, kind: str, facts: ComparedFact
    ) -> None:
        """Notice what it says that is missing here, and diverge."""
        if is_compared(scope):
            self.notice(run, dict(facts.data), private=facts.private)
        super().refuse_fact(run, scope, kind, facts)

    def notice(
        self, run: RunState, said: dict[str, JsonValue], *, private: bool
    ) -> None:
        """Notice what is *said* to be missing here, unless the record says so, too."""
        others = any(one.what == "program" for one in self.divergences)
        if self.lacked is not None or self.is_another or others:
            return
        missing = lacking(said)
        for event in self.record.events if missing else ():
            with suppress(CannotTellError):  # it was erased, and says nothing
                missing -= lacking(self.record.data(event))
        if missing:
            says = PRIVATE if private else run.port.hide(min(missing))
            self.lacked = Lacked(len(self.divergences), says)

    def before_lacking(self, findings: Sequence[Divergence]) -> list[Divergence]:
        """Return what of the *findings* counts, whatever is missing here.

        That is a difference from before anything was missing, and what was attempted.
        """
        since = 0 if self.lacked is None else self.lacked.since
        earlier = self.divergences[:since]
        return [
            one for one in findings if one in earlier or one.what in ("guard", "params")
        ]

    def named(self, *, is_another: bool) -> None:
        """Take note that somebody named the program, and whether it *is another*."""
        self.is_another = is_another
        if is_another:
            self.tell("another")

    def tell(self, *what: object) -> None:
        """Tell the witness, if there is one; data as it is compared."""
        if self.witness is not None:
            self.witness(
                [comparable(one) if isinstance(one, Prepared) else one for one in what]
            )

    def match_fact(self, scope: str, kind: str, facts: ComparedFact) -> Item | None:
        """Use up the recorded fact that equals this one, and remember what was stated."""
        item = super().match_fact(scope, kind, facts)
        data = facts.data if item is None else None
        links, private = facts.links, facts.private
        self.seen.append(Seen(scope, kind, item, data, links=links, private=private))
        return item

    def match_effect(
        self, scope: str, kind: str, key: str, *, private: bool = False
    ) -> Item | None:
        """Use up the next recorded effect with this key, and remember the request."""
        item = super().match_effect(scope, kind, key)
        if item is not None:
            asked = f"{kind}.requested"
            self._ask(Seen(scope, asked, item, asks=True, private=private))
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
        facts = self.stated(prepared)
        links = facts.links.to_json()
        self.tell("fact", scope, kind, facts.data, links, facts.private)
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
        private = run.privacy.holds(scope)
        self.tell("effect", scope, kind.name, kind.reproducible, prepared, private)
        item = self.match_effect(scope, kind.name, key, private=private)
        if item is None:
            super().request(run, scope, kind, key, fields, prepared)
            got = stated(prepared, private=private)
            item = self.in_place(run, scope, kind.name, got)
        return item

    def in_place(self, run: RunState, scope: str, kind: str, got: ComparedFact) -> Item:
        """Use up the effect that was recorded in place of this request, or diverge.

        A tolerant replay takes the next effect of that kind: its outcome is the answer.
        """
        found = self.record.next_in(scope, effect=True, kind=kind)
        if found is None or not self.tolerant:
            found = self.record.next_in(scope, effect=True)
            differs = self.record.difference(found, scope, f"{kind}.requested", got)
            self._ask(_asked(scope, kind, None, got))
            self.stopped_at = scope, differs.position
            self.differs(run, differs)
        self.divergences.append(
            self.record.difference(found, scope, f"{kind}.requested", got)
        )
        self.record.use(found)
        self._ask(_asked(scope, kind, found, got))
        return found

    def answers(self, call: EffectState, item: Item) -> bool:
        """Answer everything but reproducible effects that were performed."""
        if item.outcome is None:
            return True  # the run ended, and did not wait for it; nor may the program
        return not call.kind.reproducible or item.cancelled or item.is_gated

    def settle(self, call: EffectState) -> None:
        """Halt where the program waits for an effect that came to nothing."""
        if call.answered and call.recorded is not None:
            try:
                call.recorded.settled(call.recording.run_id)
            except CannotTellError as error:
                raise call.recording.halt(error) from None

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
        kind, place = prepared.type.name, call.place
        private = call.recording.privacy.covers(place, kind)
        self.tell("outcome", place.scope, place.ordinal, kind, prepared, private)
        outcome = ComparedFact(comparable(prepared), private=private)
        item = cast("Item", call.recorded)
        call.differs = self.compare_outcome(
            call.recording, item, kind, outcome, call.fault
        )

    def compare_outcome(
        self,
        run: RunState,
        item: Item,
        kind: str,
        outcome: ComparedFact,
        fault: MunimentError | None = None,
    ) -> bool:
        """Tell whether *outcome* differs from the recorded one, or diverge.

        A tolerant replay continues with what was performed.

        Raises:
            CannotTellError, RefusedError: the *fault* of this machine, by which it does.

        """
        recorded = item.settled(run.run_id)
        told = (recorded.type, self.record.data(recorded)), (kind, outcome.data)
        difference = outcome_difference(*told, run.port.hide)
        if difference is None:
            return False
        if fault is not None:
            raise run.halt(untold(fault))
        self.notice(run, outcome.data, private=outcome.private)
        found = Divergence("outcome", item.scope, recorded.seq, *difference)
        found = found.shown(recorded, private=outcome.private)
        if (asked := self._asked.get((item.scope, item.ordinal))) is not None:
            asked.outcome, asked.private_outcome = (kind, outcome.data), outcome.private
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

    @contextmanager
    def performing(self, call: EffectState) -> Generator[None]:
        """Lift the guards while a reproducible effect is performed."""
        with self.permit():
            try:
                yield
            except MunimentError as error:
                if error.is_of_machine:
                    call.fault = error
                raise

    def unguarded(self, guards: tuple[str, ...]) -> AbstractContextManager[object]:
        """Lift the guards; the report names only *guards*."""
        self.guards = guards
        return self.permit()


def _asked(scope: str, kind: str, item: Item | None, got: ComparedFact) -> Seen:
    """Return a request that the record lacks, and the effect that answers it."""
    asked = f"{kind}.requested"
    return Seen(scope, asked, item, got.data, asks=True, private=got.private)

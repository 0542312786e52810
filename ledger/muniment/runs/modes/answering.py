"""What the modes of a run that has a record have in common: it answers, and is compared.

Rules:

- What a plugin refused in the record is refused again, with the recorded reason.
- A difference is kept, and stops the program with it; a tolerant mode goes on wherever
  the record allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn, cast

from muniment.encoding.canonical import canonical, parse
from muniment.encoding.codec import encode
from muniment.errors import AppendRefused
from muniment.events.types import Prepared
from muniment.formats.statement import Event
from muniment.recorded.compare import differences, is_compared, is_of_plugin
from muniment.recorded.divergence import Divergence, several
from muniment.recorded.items import Item
from muniment.recorded.links import ComparedFact, runs_of, stated
from muniment.recorded.run import Recorded
from muniment.runs.modes.live import Mode

if TYPE_CHECKING:
    from muniment.runs.seams import RunState

__all__ = ["Answering"]


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

    def stated(self, prepared: Prepared) -> ComparedFact:
        """Return a fact of the run, as it is compared."""
        return stated(prepared, runs_of(self.record.events[0]))

    def require_own(
        self, scope: str, data: Mapping[str, object], prepared: Prepared
    ) -> None:
        """Refuse a fact that other code alone states, unless an older record has it next.

        Raises:
            UsageError: it is one.

        """
        kind = prepared.type.name
        if prepared.type.own is not None and not is_of_plugin(scope):
            found = self.record.find_fact(scope, kind, self.stated(prepared))
            if found and found is self.record.next_in(scope, effect=False):
                return
        super().require_own(scope, data, prepared)

    def match_fact(self, scope: str, kind: str, facts: ComparedFact) -> Item | None:
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
        self, run: RunState, scope: str, kind: str, facts: ComparedFact
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
        before, after = (parse(canonical(encode(one))) for one in (was, now))
        what, started = "program" if warns else "params", self.record.events[0].seq
        parted = differences(before, after, name)
        found = [Divergence(what, "", started, *one) for one in parted]
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

"""A recorded run, ready to answer: its facts by scope, its effects by match key.

Rules:

- An effect is found by (scope, kind, hash of the request, n-th occurrence), never by
  global order: parallel calls whose latencies swapped still match.
- A fact is found in its scope, in order if possible, else wherever an equal one is, with
  the same subjects and series; one found elsewhere is remembered as a finding of its own.
- An answered effect uses up what its performer recorded inside, as one subtree.
  Lifecycle events of the run answer nothing.
- Nothing answers twice; items left at the end were not asked for.
- A resumption that performs a failed effect again supersedes what followed its failure
  in its scope and in those around it: such facts answer nothing and are stated again;
  such effects still answer, but need not be asked for. In scopes beside it, everything
  is still asked for, but the program may do something new before.
- `Recorded.due` says what has to come before anything new, or before a later event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import cast

from muniment.encoding.canonical import JsonValue, parse
from muniment.events.effect_types import EffectRequested
from muniment.events.readable import as_signed
from muniment.format_versions import SERIES
from muniment.formats.lifecycle import FAILED, LIFE, RESUMED
from muniment.formats.statement import BlobRef, Event
from muniment.recorded.compare import (
    EFFECT_SCOPE,
    PLUGIN_SCOPE,
    Reading,
    comparable_event,
    entry,
    first_difference,
    is_compared,
    is_of_plugin,
)
from muniment.recorded.divergence import Divergence
from muniment.recorded.items import Item, LogOrder, Scope, is_cancelled
from muniment.recorded.links import ComparedFact, links_of, runs_of
from muniment.recorded.match_keys import effect_scope, match_key
from muniment.recorded.refusals import Refusals

__all__ = ["Recorded"]


class Recorded:
    """The events of one run, indexed for answering."""

    def __init__(self, events: Iterable[Event], reading: Reading) -> None:
        self._types = reading.types
        self._read = reading.content
        self._says_all = reading.version >= SERIES
        self.scopes: dict[str, Scope] = {}
        self.events: list[Event] = []
        self.reordered: list[Item] = []
        self._inside: dict[str, list[Scope]] = {}
        """The scope of an effect's performer → it and the scopes below."""
        self._failures: list[Event] = []
        self._refusals = Refusals()
        self._order = LogOrder()
        self._asked: list[Item] = []
        """The effects in the order of the log, from the first not asked for yet."""
        self._open: dict[tuple[str, int], Item] = {}
        """The last effect at each ordinal of a scope, whose outcome may follow."""
        self.extend(events)

    def extend(self, events: Iterable[Event]) -> None:
        """Add the *events* that followed."""
        for event in map(as_signed, events):
            self.events.append(event)
            self._index(event)

    def undeclared(self) -> Iterator[Event]:
        """Yield the events of types that nothing here declares."""
        return (event for event in self.events if not self._types.find(event.type))

    def missing(self, active: Container[str]) -> list[str]:
        """Return the plugins of the run's start that are not *active*."""
        told = cast("Mapping[str, str]", self.events[0].raw.get("plugins", {}))
        return sorted(name for name in told if name not in active)

    def _index(self, event: Event) -> None:
        name, ordinal = event.scope or "", event.ordinal or 0
        scope = self.scopes.get(name) or self._new_scope(name)
        scope.next_ordinal = max(scope.next_ordinal, ordinal + 1)
        stem, _, verb = event.type.rpartition(".")
        if self._refusals.take_in(event):
            return
        if event.type in LIFE:
            if event.type == FAILED:
                self._failures.append(event)
            elif event.type == RESUMED:
                self._supersede(event)
            return
        earlier = self._open.get((name, ordinal))
        if verb in ("completed", "failed") and earlier and earlier.kind == stem:
            earlier.outcome = event
        elif verb == "streamed" and earlier and earlier.kind == stem:
            earlier.streamed.append(event)
        elif verb == "requested" and earlier is not None:
            earlier.outcome, earlier.attempts = None, earlier.attempts + 1
            earlier.streamed = []
        elif verb == "requested" and self._is_effect(event.type):
            key = match_key(stem, self._content(event, "request"))
            item = Item(event, name, ordinal, key, stem)
            self._open[name, ordinal] = item
            if not is_of_plugin(name):  # a replay asks no hook
                self._asked.append(item)
            self._add(scope, item)
            scope.effects.setdefault(key, deque()).append(item)
        else:
            stated = entry(event.scope or "", event.type, self.data(event))
            known = self._types.find(event.type)
            links = links_of(event, known, self._read).without(runs_of(self.events[0]))
            item = Item(event, name, ordinal, stated, links=links)
            item.says_all = self._says_all or not self._types.is_of_plugin(event.type)
            self._add(scope, item)
            scope.facts.append(item)

    def _add(self, scope: Scope, item: Item) -> None:
        scope.items.append(item)
        if is_compared(item.scope):
            self._order.items.append(item)

    def _new_scope(self, name: str) -> Scope:
        scope = self.scopes[name] = Scope()
        segments = name.split("/")
        for end, segment in enumerate(segments, 1):
            if segment.startswith(EFFECT_SCOPE):
                self._inside.setdefault("/".join(segments[:end]), []).append(scope)
        return scope

    def _is_effect(self, name: str) -> bool:
        known = self._types.find(name)
        return known is None or issubclass(known.model, EffectRequested)

    def _content(self, event: Event, name: str) -> bytes:
        value = event.raw.get(name)
        if isinstance(value, dict) and "$blob" in value:
            return self._read(BlobRef.from_json(value))
        return b"null"

    def content(self, event: Event, name: str) -> JsonValue:
        """Return the content *name* of *event*, including what is not compared."""
        return parse(self._content(event, name))

    def data(self, event: Event) -> dict[str, JsonValue]:
        """Return the data of *event* as it is compared."""
        return comparable_event(event, self._types.find(event.type), self._read)

    def stated(self, item: Item) -> ComparedFact:
        """Return what *item* says, as it is compared."""
        return ComparedFact(self.data(item.event), item.links)

    def find_fact(self, scope: str, kind: str, stated: ComparedFact) -> Item | None:
        """Return the recorded fact that equals this one; None if there is none."""
        here = self.scopes.get(scope)
        key = entry(scope, kind, stated.data)
        same = (one for one in (here.facts if here else ()) if one.key == key)
        return next((one for one in same if one.is_about(stated.links)), None)

    def find_effect(self, scope: str, key: str) -> Item | None:
        """Return the next recorded effect with this match key."""
        here = self.scopes.get(scope)
        waiting = None if here is None else here.effects.get(key)
        return waiting[0] if waiting else None

    def find_in_doubt(self, scope: str, key: str) -> Item | None:
        """Return the first recorded effect with this match key that has no end."""
        here = self.scopes.get(scope)
        waiting = () if here is None else here.effects.get(key, ())
        return next(
            (
                item
                for item in waiting
                if item.outcome is None or self.was_cut_off(item)
            ),
            None,
        )

    def refusal(self, scope: str, kind: str, found: Item | None) -> Event | None:
        """Use up the refusal of such an event that comes before the *found* item."""
        before = None if found is None else found.event.seq
        refused = self._refusals.next(scope, kind, before)
        if refused is not None and scope in self.scopes:
            here = self.scopes[scope]
            here.reached = max(here.reached, refused.seq)
        return refused

    def refused(self) -> Iterator[tuple[str, Event]]:
        """Yield each refusal that a program comes to, with its scope; used up or not."""
        for event in self._refusals.known:
            yield cast("str", event.raw["scope"]), event

    def was_fatal(self, item: Item) -> bool:
        """Tell whether the failure of this effect ended the run."""
        outcome, effect = item.outcome, [item.scope, item.ordinal]
        return outcome is not None and any(
            effect in cast("list[object]", event.raw.get("cause", []))
            for event in self._failures
            if event.seq > outcome.seq
        )

    def fatal(self) -> list[list[object]]:
        """Return scope and ordinal of each effect whose failure ended the run."""
        causes = [
            one
            for event in self._failures
            for one in cast("list[tuple[str, int]]", event.raw.get("cause", []))
        ]
        open_ = {(s, n): self._open.get((s, n)) for s, n in causes}
        return [
            [*place] for place, item in open_.items() if item and self.was_fatal(item)
        ]

    def _supersede(self, resumed: Event) -> None:
        """Supersede what followed the failures that *resumed* performs again."""
        for name, ordinal in cast("list[tuple[str, int]]", self.fatal()):
            self._order.loosen(cast("Event", self._open[name, ordinal].outcome).seq)
        for name, ordinal in cast(
            "list[tuple[str, int]]", resumed.raw.get("supersedes", [])
        ):
            if (failed := self._open.get((name, ordinal))) is not None:
                self.supersede(failed)

    def supersede(self, failed: Item) -> None:
        """Supersede what followed the outcome of *failed*, which is performed again."""
        if failed.outcome is None:
            return
        seq, segments = failed.outcome.seq, list(filter(None, failed.scope.split("/")))
        around = ("/".join(segments[:end]) for end in range(len(segments) + 1))
        for scope in (self.scopes[one] for one in around if one in self.scopes):
            for item in scope.items:
                item.superseded |= item.event.seq > seq
            scope.facts = deque(one for one in scope.facts if not one.superseded)
        self._order.loosen(seq)

    def was_cut_off(self, item: Item) -> bool:
        """Tell whether the run stopped waiting for this effect only when it ended."""
        outcome = item.outcome
        return is_cancelled(outcome) and all(
            event.type in LIFE or is_cancelled(event)
            for event in self.events
            if outcome is not None and event.seq > outcome.seq
        )

    def went_on(self, item: Item) -> bool:
        """Tell whether more was written after parts of the effect were passed on."""
        return bool(item.streamed) and any(
            event.seq > item.streamed[0].seq
            and event.type not in LIFE
            and not (event.scope or "").startswith(f"{PLUGIN_SCOPE}/")
            and (event.scope, event.ordinal) != (item.event.scope, item.event.ordinal)
            for event in self.events
        )

    def has_asked(self, seq: int) -> bool:
        """Tell whether all effects from before the event *seq* were asked for again."""
        self._asked = [
            item for item in self._asked if not (item.used or item.superseded)
        ]
        return not self._asked or self._asked[0].event.seq > seq

    def gaps(self, scope: str, kind: str, what: str) -> list[Divergence]:
        """Return a divergence for each fact *kind* in *scope*; *what* names the gap."""
        here = self.scopes.get(scope)
        return [
            Divergence("unrecorded", "", item.event.seq, what, None, None)
            for item in ([] if here is None else here.items)
            if item.event.type == kind
        ]

    def use(self, item: Item) -> None:
        """Use up *item*, an effect with everything recorded inside.

        A fact in another place than in the record is remembered.
        """
        here = self.scopes[item.scope]
        item.used, here.reached = True, max(here.reached, item.event.seq)
        if not item.kind:
            if here.facts[0] is not item:
                self.reordered.append(item)
            here.facts.remove(item)
            return
        here.effects[item.key].remove(item)
        for other in self.inside(item):
            for one in other.items:
                one.used = True

    def inside(self, item: Item) -> Iterable[Scope]:
        """Return the scopes in which the performer of the effect *item* recorded."""
        return self._inside.get(effect_scope(item.scope, item.kind, item.ordinal), ())

    def reached(self, scope: str) -> int:
        """Return the latest event of *scope* that was used up; 0 for none."""
        here = self.scopes.get(scope)
        return 0 if here is None else here.reached

    def next_in(
        self, scope: str, *, effect: bool, kind: str | None = None
    ) -> Item | None:
        """Return the earliest unused fact or effect of *scope*, or effect of a *kind*."""
        here = self.scopes.get(scope)
        if here is None:
            return None
        items = here.items
        while here.waits < len(items) and not items[here.waits].waits:
            here.waits += 1
        for item in islice(items, here.waits, None):
            if item.waits and bool(item.kind) == effect and kind in (None, item.kind):
                return item
        return None

    def due(
        self, scope: str, *, effect: bool, before: int | None = None
    ) -> Item | None:
        """Return what has to come before something new, or before the event *before*.

        Of several items, a fact or an effect of *scope* is preferred, to be compared with.
        """
        first = self._order.first(before)
        if first is None:
            return None
        same = (
            self.next_in(scope, effect=effect),
            self.next_in(scope, effect=not effect),
        )
        return next((one for one in same if one and one.if_due(before)), first)

    def due_fact(self, scope: str, before: int) -> Item | None:
        """Return the fact of *scope* that has to come before the event *before*."""
        item = self.next_in(scope, effect=False)
        return item and item.if_due(before)

    def difference(
        self, expected: Item | None, scope: str, kind: str, got: ComparedFact
    ) -> Divergence:
        """Return how the program's statement or request differs from the expected."""
        if expected is None:
            after = self.reached(scope)
            return Divergence("extra", scope, None, "type", None, kind, after)
        seq, was = expected.event.seq, expected.event.type
        if expected.scope != scope:
            return expected.missing
        if was != kind:
            return Divergence("type", scope, seq, "type", was, kind)
        data: JsonValue = self.data(expected.event)
        linked = expected.links.difference(got.links)
        parted = first_difference(data, got.data) or linked or ("data", data, got.data)
        what = "effect" if expected.kind else "fact"
        found = Divergence(what, scope, seq, *parted)
        return found.shown(expected.event, private=got.private)

    def unused(self) -> list[Item]:
        """Return the items that were not asked for, in the order of the log.

        Facts of plugins' hooks are not among them, since an answered effect asks no
        hook; nor is anything inside an effect that was not asked for.
        """
        left = [
            item
            for name, scope in self.scopes.items()
            if is_compared(name)
            for item in scope.items
            if item.waits
        ]
        left += [
            Item(event, scope, 0, event.type)
            for scope, event in self._refusals.left()
            if is_compared(scope)
        ]
        return sorted(left, key=lambda item: item.event.seq)

    def passed(self, place: tuple[str, int]) -> list[Item]:
        """Return the items not asked for, though later ones in their scope were.

        *place* is a scope, and an event in it that counts as asked for.
        """
        return [
            item
            for item in self.unused()
            if item.event.seq < self.reached(item.scope)
            or (item.scope == place[0] and item.event.seq < place[1])
        ]

"""The record that answers a fork: another run's, up to one of its events.

    run.started   data:    {"fork": {"run": "01JC…", "at": 12, "leaf": "9f86…",
                                     "changes": [{"seq": 9, "leaf": "4b22…"}]},
                            "changed": ["another answer"]}
                  subject: fork   sha256:9f86…   the leaf hash of the event ``at``

Rules:

- Only events up to ``at`` answer. An effect whose outcome comes later is not answered.
- What the record has up to ``at`` comes first: another fact than the next one of its
  scope, or something new while the record has more, is a difference. If nothing waits any
  more, the program is beyond ``at``. While other threads or tasks of the program run, they
  may still come to what waits, and nothing is a difference.
- After a changed outcome, its scope and those below may take another path: facts are
  not compared there, and at the first different request the record stops answering. From
  then on each other scope is compared by itself.
- Events that the origin's plugins refused are refused again.
- Nothing answers in the lane of a plugin: its hooks are not asked about what is answered,
  so their first reading in the fork is not the first one of the origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias, cast

from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import Event, Subject
from muniment.recorded.compare import Reading, is_compared, is_of_plugin
from muniment.recorded.divergence import Divergence
from muniment.recorded.items import Item
from muniment.recorded.links import ComparedFact
from muniment.recorded.run import Recorded

__all__ = ["Followed", "ForkedFrom", "Origin"]

Followed: TypeAlias = Item | Event | Divergence | None
"""What the record has: the same, its refusal, another in its place, or nothing."""

_CLOCK = "clock.read"


@dataclass(frozen=True, slots=True)
class ForkedFrom:
    """What the start of a fork says about the run that it was forked from."""

    run: str
    at: int
    leaf: str
    """The leaf hash of the event *at*."""
    changes: tuple[tuple[int, str], ...] = ()
    """Number and leaf hash of each changed outcome."""

    @classmethod
    def of(cls, started: Event) -> Self | None:
        """Return what *started* says; None for a run that is not a fork."""
        told = started.raw.get("fork")
        if not isinstance(told, dict):
            return None
        named = cast("list[dict[str, JsonValue]]", told["changes"])
        changes = tuple(
            (cast("int", one["seq"]), cast("str", one["leaf"])) for one in named
        )
        run, leaf = cast("str", told["run"]), cast("str", told["leaf"])
        return cls(run, cast("int", told["at"]), leaf, changes)

    def to_json(self) -> dict[str, object]:
        """Return it as the start of the fork writes it."""
        changes = [{"seq": seq, "leaf": leaf} for seq, leaf in self.changes]
        return {"run": self.run, "at": self.at, "leaf": self.leaf, "changes": changes}

    @property
    def subject(self) -> Subject:
        """The subject of the fork's start, by which an index finds it."""
        return Subject("fork", f"sha256:{self.leaf}")


class Origin:
    """Answers from the record up to one event, while the program follows it."""

    def __init__(
        self,
        events: Iterable[Event],
        told: ForkedFrom,
        values: Iterable[object],
        reading: Reading,
    ) -> None:
        self.told = told
        own = [event for event in events if event.seq <= told.at]
        self.record = Recorded(own, reading)
        names = (seq for seq, _ in told.changes)
        self.values: Mapping[int, object] = dict(zip(names, values, strict=True))
        """The changed values, by the number of the outcome."""
        self._changed: set[str] = set()
        self._live: set[str] = set()
        self.is_alone: Callable[[], bool] = lambda: False
        """Whether the program does one thing at a time now."""

    def fact(
        self, scope: str, kind: str, facts: ComparedFact, *, ordered: bool = False
    ) -> Followed:
        """Use up the record's item for such a fact; it differs if another comes first.

        That is known while nobody else runs, or in a scope that is *ordered*.
        """
        if is_of_plugin(scope) or _is_below(scope, self._live):
            return None
        item = self.record.find_fact(scope, kind, facts)
        if (refused := self.record.refusal(scope, kind, item)) is not None:
            return refused
        if item is not None:
            self.record.use(item)
            due = self.record.due_fact(scope, item.event.seq)
        else:
            due = self._due(scope, effect=False)
        if due is None or self._may_differ(scope):
            return item
        if not ((ordered and due.scope == scope) or self.is_alone()):
            return item
        return self.record.difference(due, scope, kind, facts)

    def effect(
        self,
        scope: str,
        kind: str,
        key: str,
        got: ComparedFact,
        *,
        ordered: bool = False,
    ) -> Followed:
        """Use up the record's item for such a request, as `fact` does for a fact."""
        if is_of_plugin(scope) or _is_below(scope, self._live):
            return None
        requested = f"{kind}.requested"
        item = self.record.find_effect(scope, key)
        if (refused := self.record.refusal(scope, requested, item)) is not None:
            return refused
        if item is not None:
            self.record.use(item)
        if self._may_differ(scope):
            if item is None and self.record.next_in(scope, effect=True) is not None:
                self._live.add(scope)
            return item
        if item is not None and item.outcome is not None:
            return item
        due = self._due(
            scope, effect=True, before=None if item is None else item.event.seq
        )
        if due is None or not ((ordered and due.scope == scope) or self.is_alone()):
            return item
        return self.record.difference(due, scope, requested, got)

    def holds(self, scope: str, key: str) -> bool:
        """Tell whether the record has an effect with this match key, not used up yet."""
        if is_of_plugin(scope) or _is_below(scope, self._live):
            return False
        return self.record.find_effect(scope, key) is not None

    def _due(
        self, scope: str, *, effect: bool, before: int | None = None
    ) -> Item | None:
        """Return what has to come before something that the record does not answer."""
        if not is_compared(scope):
            return None
        due = self.record.due(scope, effect=effect, before=before)
        return due if due and (due.scope == scope or not self._changed) else None

    def clock(self, scope: str) -> Event | None:
        """Return the next reading of the clock in *scope*, if there is one."""
        here = self.record.scopes.get(scope)
        if here is None or is_of_plugin(scope) or _is_below(scope, self._live):
            return None
        return next((one.event for one in here.facts if one.event.type == _CLOCK), None)

    def loosen(self, scope: str) -> None:
        """Let the program take another path in *scope*, which has a changed outcome."""
        self._changed.add(scope)

    def depart(self, item: Item) -> None:
        """Let the program go its own way from *item* on, whose outcome another replaced."""
        self.record.supersede(item)
        self.loosen(item.scope)

    def _may_differ(self, scope: str) -> bool:
        return _is_below(scope, self._changed)

    def left(self) -> Item | None:
        """Return the first item that the program should have reached, and did not."""
        left = (one for one in self.record.unused() if not self._may_differ(one.scope))
        return next(left, None)

    def by(self, event: Event, who: str = "record") -> dict[str, object]:
        """Return how an event that *event* answers names it."""
        named = {"seq": event.seq, "leaf": event.hash}
        return {"who": who, "run": self.told.run, **named}


def _is_below(scope: str, scopes: set[str]) -> bool:
    """Tell whether *scope* is one of *scopes*, or below one."""
    return any(not one or f"{scope}/".startswith(f"{one}/") for one in scopes)

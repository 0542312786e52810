"""Where two runs differ, by what it is about; which terms accept it is not decided here.

    found = differences_of(expected, observed)
    found[0]     JudgedDifference("fact", "evidence", "step/0", 12, "score", 0.9, 0.8, …)

Rules:

- Every value that differs is a difference of its own. They come in the order of the
  expected record; what only the observed run has follows the last event before it that
  both have.
- What is optional may be missing: a resume had superseded it. So may everything that a
  stopped program had not come to.
- Effects that the performers of two effects asked for are compared in the same way, lane
  by lane, unless a replay or somebody else than a performer answered one of the two.
- Another failure of a run, by its type or its message, is another status.
- Two runs of which neither states a fingerprint are compared by what their start says of
  the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment.events.visibility import INSTEAD, PRIVATE
from muniment.recorded.compare import differences
from muniment.replays.account import AccountEntry
from muniment_plugins.governance.judgement.metrics import metric_differences
from muniment_plugins.governance.judgement.pairing import (
    PairedEntries,
    pair_effects,
    pair_facts,
)
from muniment_plugins.governance.judgement.subjects import (
    FINGERPRINT,
    FREE,
    LOOSE,
    about_of,
    about_start,
    fixed_members,
    root_of,
)

if TYPE_CHECKING:
    from muniment.recorded.divergence import Divergence
    from muniment_plugins.governance.judgement.record import ComparedRun

__all__ = ["JudgedDifference", "Looked", "differences_of"]


@dataclass(frozen=True, slots=True)
class JudgedDifference:
    """One place where the observed run is not what was expected."""

    what: str
    """``fact``, ``effect``, ``outcome``, ``type``, ``order``, ``missing``, ``extra``,
    ``start``, ``end``, ``guard``, ``program``, ``unrecorded`` or ``measure``."""
    about: str
    """``event``, ``effect``, ``artifact``, ``evidence``, ``claim``, ``contradiction``,
    ``verification``, ``arbitration``, ``metric``, ``plan``, ``params``, ``policy``,
    ``environment``, ``surroundings``, ``dataset``, ``refusal``, ``result``, ``status``,
    ``isolation`` or ``record``."""
    scope: str
    seq: int | None
    """The recorded event that was expected; None for what the record has not."""
    field: str
    expected: JsonValue
    got: JsonValue
    position: tuple[int, int] = (0, 0)
    """Where it comes in the record."""
    structural: bool = True
    """Whether the types of the scope's facts, in their order, are others, too."""
    run: str = ""
    """The child run in whose record it is; empty for the run itself."""
    private: bool = False
    """Whether a side keeps its value private: it is judged, and not shown."""

    @property
    def hides(self) -> bool:
        """Whether its values are for nobody who does not ask for what is private."""
        return self.private or root_of(self.field) == PRIVATE

    @property
    def shown(self) -> tuple[JsonValue, JsonValue]:
        """What was expected and what there is, as they may be shown."""
        return (INSTEAD, INSTEAD) if self.hides else (self.expected, self.got)

    @property
    def warns(self) -> bool:
        """Whether nothing that was compared differs."""
        return self.what in ("program", "unrecorded")

    def to_json(self) -> dict[str, JsonValue]:
        """Return the difference as plain JSON, as it may be shown."""
        expected, got = self.shown
        return {
            "what": self.what,
            "about": self.about,
            "scope": self.scope,
            "seq": self.seq,
            "field": root_of(self.field) if self.hides else self.field,
            "expected": expected,
            "got": got,
            **({"run": self.run} if self.run else {}),
        }


@dataclass(slots=True)
class Looked:
    """The differences of two runs, and how much of what was expected was looked for."""

    found: list[JudgedDifference] = field(default_factory=list["JudgedDifference"])
    compared: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("facts", "effects", "outcomes", "results", "child_runs"), 0
        )
    )
    called: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The child runs that an expected call and the observed one came to."""


def differences_of(expected: ComparedRun, observed: ComparedRun) -> Looked:
    """Return where *observed* differs from *expected*, in the order of the record."""
    looked = Looked()
    work = _Comparison(expected, observed, looked)
    work.start()
    work.scopes()
    work.end()
    work.told()
    looked.found.sort(key=lambda one: one.position)
    return looked


class _Comparison:
    """The comparison of two runs, while it goes on."""

    def __init__(
        self, expected: ComparedRun, observed: ComparedRun, looked: Looked
    ) -> None:
        self._expected, self._observed, self._looked = expected, observed, looked
        self._seen = [replace(one) for one in observed.entries]  # each its own object
        self._matched: dict[int, int] = {}
        """Identity of an observed entry → the expected event that it belongs to."""

    def start(self) -> None:
        """Compare what the runs began with."""
        mine, theirs = self._expected, self._observed
        began = {"params": mine.params, "policy": mine.policy}
        begun = {"params": theirs.params, "policy": theirs.policy}
        if not any(one.type == FINGERPRINT for one in (*mine.entries, *theirs.entries)):
            began["environment"] = mine.environment
            begun["environment"] = theirs.environment
        stated = (fixed_members(one) for one in mine.entries)
        fixed = next((one for one in stated if one is not None), None)
        for path, was, now in differences(began, begun):
            about = about_start(path, fixed)
            loose = about == LOOSE
            hides = root_of(path) == "params" and (mine.private or theirs.private)
            self._note(
                "start",
                about,
                mine.start,
                (path, was, now),
                structural=not loose,
                private=hides,
            )

    def scopes(self) -> None:
        """Compare facts with facts and effects with effects, scope by scope."""
        mine, theirs = _by_scope(self._expected.entries), _by_scope(self._seen)
        extra: list[AccountEntry] = []
        for scope in {**mine, **theirs}:
            facts, effects = mine.get(scope, ([], []))
            facts_now, effects_now = theirs.get(scope, ([], []))
            stated = pair_facts(facts, facts_now)
            asked = pair_effects(effects, effects_now)
            structural = _structure(facts) != _structure(facts_now)
            self._pairs(stated, structural=structural)
            self._pairs(asked, structural=False)
            pairs = [*stated.pairs, *asked.pairs]
            passed = (one.seq or 0 for one, now in pairs if _passed(one, now))
            reached = max(passed, default=0)
            self._missing([*stated.missing, *asked.missing], reached)
            extra += [*stated.extra, *asked.extra]
        self._extra(extra)

    def _pairs(self, paired: PairedEntries, *, structural: bool) -> None:
        for at, (mine, theirs) in enumerate(paired.pairs):
            self._matched[id(theirs)] = mine.seq or 0
            self._count(mine)
            if at in paired.moved:
                about = about_of(mine)
                self._note(
                    "order",
                    about,
                    mine.seq,
                    ("position", None, None),
                    mine.scope,
                    structural=structural and about not in FREE,
                )
            self._pair(mine, theirs)

    def _pair(self, mine: AccountEntry, theirs: AccountEntry) -> None:
        about, scope = about_of(mine), mine.scope
        fixed = fixed_members(mine)
        if mine.type != theirs.type:
            self._note("type", about, mine.seq, ("type", mine.type, theirs.type), scope)
            return
        what = "effect" if mine.kind else "fact"
        note = partial(
            self._note,
            scope=scope,
            structural=False,
            private=mine.private or theirs.private,
        )
        parted = metric_differences if about == "metric" else differences
        for found in parted({**mine.data}, {**theirs.data}):
            member = about if fixed is None or root_of(found[0]) in fixed else LOOSE
            note(what, member, mine.seq, found)
        if (linked := mine.links.difference(theirs.links)) is not None:
            note(what, about, mine.seq, linked)
        if mine.outcome != theirs.outcome:
            found = ("outcome", mine.outcome, theirs.outcome)
            self._note("outcome", about, mine.answered or mine.seq, found, scope)
        elif mine.answer is not None and theirs.answer is not None:
            hides = mine.private_answer or theirs.private_answer
            for found in differences(dict(mine.answer), dict(theirs.answer)):
                seq = mine.answered or mine.seq
                note("outcome", about, seq, found, private=hides)
        self._inside(mine, theirs)

    def _inside(self, mine: AccountEntry, theirs: AccountEntry) -> None:
        """Compare what the performers of two effects asked for, where both are known."""
        if mine.called and theirs.called:
            self._looked.called.append((mine.called, theirs.called))
        if mine.inside is None or theirs.inside is None:
            return
        for lane in {**mine.inside, **theirs.inside}:
            asked = pair_effects(mine.inside.get(lane, ()), theirs.inside.get(lane, ()))
            self._pairs(asked, structural=False)
            self._missing(asked.missing, 0)
            for one in asked.extra:
                self._note_extra(one, mine.seq or 0)

    def _missing(self, missing: Iterable[AccountEntry], reached: int) -> None:
        for one in missing:
            late = self._observed.stopped and (one.seq or 0) > reached
            if not (one.optional or late):
                self._count(one)
                found = ("type", one.type, None)
                self._note("missing", about_of(one), one.seq, found, one.scope)

    def _extra(self, extra: Iterable[AccountEntry]) -> None:
        left, after = {id(one) for one in extra}, self._expected.start or 0
        for one in self._seen:
            after = self._matched.get(id(one), after)
            if id(one) in left:
                self._note_extra(one, after)

    def _note_extra(self, one: AccountEntry, after: int) -> None:
        self._looked.found.append(
            JudgedDifference(
                *("extra", about_of(one), one.scope, None, "type", None, one.type),
                position=(after, 1),
            )
        )

    def end(self) -> None:
        """Compare status, and result or failure."""
        mine, theirs = self._expected.end, self._observed.end
        if mine is None and (theirs is None or self._observed.stopped):
            return
        self._looked.compared["results"] += mine is not None and mine.concluded
        was: dict[str, JsonValue] = {} if mine is None else dict(mine.data)
        now: dict[str, JsonValue] = {} if theirs is None else dict(theirs.data)
        was["status"] = None if mine is None else mine.status
        now["status"] = None if theirs is None else theirs.status
        seq = self._last if mine is None else mine.seq
        if was["status"] != now["status"]:
            failed = _failure(now, private=theirs is not None and theirs.private)
            found = ("status", was["status"], failed or now["status"])
            self._note("end", "status", seq, found)
            return
        hides = any(one is not None and one.private for one in (mine, theirs))
        for path, one, other in differences(was, now):
            about = "status" if path in ("error_type", "message") else "result"
            self._note(
                "end",
                about,
                seq,
                (path, one, other),
                structural=False,
                private=hides and path != "error_type",
            )

    def told(self) -> None:
        """Add what is no difference of two values: attempts, and words of a replay."""
        seen, last = self._observed, self._last or 0
        for guard, attempt in seen.attempts:
            self._looked.found.append(
                JudgedDifference(
                    *("guard", "isolation", "", None, guard, None, attempt),
                    position=(last, 2),
                )
            )
        self._looked.found += [_told(one) for one in (*seen.told, *seen.gaps)]

    @property
    def _last(self) -> int | None:
        """The last expected event that was found."""
        return max(self._matched.values(), default=self._expected.start)

    def _count(self, mine: AccountEntry) -> None:
        compared = self._looked.compared
        compared["effects" if mine.kind else "facts"] += 1
        compared["outcomes"] += mine.outcome is not None

    def _note(  # noqa: PLR0913 - what a difference says
        self,
        what: str,
        about: str,
        seq: int | None,
        found: tuple[str, JsonValue, JsonValue],
        scope: str = "",
        *,
        structural: bool = True,
        private: bool = False,
    ) -> None:
        self._looked.found.append(
            JudgedDifference(
                *(what, about, scope, seq, *found),
                position=(seq or 0, 0),
                structural=structural,
                private=private,
            )
        )


_TOLD = {
    "params": ("start", "params"),
    "program": ("program", "record"),
    "unrecorded": ("unrecorded", "record"),
}
"""What a replay's own finding is → what it is here."""
_PINS = ("dataset", "environment")
"""What a flow compares in a replay with what is there now."""


def _told(one: Divergence) -> JudgedDifference:
    what, about = _TOLD.get(one.what, ("outcome", "effect"))
    if one.what == "params" and root_of(one.field) in _PINS:
        about = root_of(one.field)
    return JudgedDifference(
        *(what, about, one.scope, one.seq, one.field, one.expected, one.got),
        position=(one.position, 0),
    )


def _failure(end: Mapping[str, JsonValue], *, private: bool) -> str | None:
    """Return the status of a failed run with its error, or nobody learns of it."""
    if "error_type" not in end:
        return None
    message = INSTEAD if private else end.get("message", "")
    return f"{end['status']}, {end['error_type']}: {message}"


def _by_scope(
    entries: Sequence[AccountEntry],
) -> dict[str, tuple[list[AccountEntry], list[AccountEntry]]]:
    """Return the facts and the effects of each scope, in their order."""
    found: dict[str, tuple[list[AccountEntry], list[AccountEntry]]] = {}
    for one in entries:
        facts, effects = found.setdefault(one.scope, ([], []))
        (effects if one.kind else facts).append(one)
    return found


def _passed(mine: AccountEntry, theirs: AccountEntry) -> bool:
    """Tell whether the program had come to the expected entry, and not only near it.

    A fact that differs may be one that was put before something else.
    """
    same = (mine.type, mine.data, mine.links) == (
        theirs.type,
        theirs.data,
        theirs.links,
    )
    return bool(mine.kind) or same


def _structure(entries: Iterable[AccountEntry]) -> list[str]:
    return [one.type for one in entries if about_of(one) not in FREE]

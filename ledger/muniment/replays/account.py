"""What a program stated, asked and returned: as it is recorded, and as it did it again.

    account_of(ledger, run).entries[0]      AccountEntry("", "note.added", {"text": …}, 7)
    seen = replay(ledger, run).seen[0]
    seen.recorded(), seen.observed()        two accounts, to be compared by whoever wants to

Rules:

- Data is as it is compared: without volatile fields, with contents in place of their
  commitments. Facts of plugins' hooks, and what performers stated, are not in it; the
  effects that performers asked for are in the effect, of a record alone.
- Entries are in the order of the log, or of what the program did.
- In what was observed, an entry names the recorded event that it equals, or that
  answered it; what the record lacks names none.
- What a plugin refused is an entry, too: of type ``plugin.refused``, in the scope of the
  event that was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.events.visibility import PRIVATE, VISIBILITY, is_private
from muniment.formats.lifecycle import CONCLUDED, ENDS, LIFE
from muniment.formats.statement import Event
from muniment.recorded.compare import is_compared
from muniment.recorded.divergence import Divergence
from muniment.recorded.items import Item, Seen
from muniment.recorded.links import NO_LINKS, FactLinks
from muniment.recorded.refusals import REFUSED
from muniment.recorded.run import Recorded
from muniment.replays.nested import child_called, lanes_of
from muniment.runs.resume import recorded_run

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "AccountEnd",
    "AccountEntry",
    "RunAccount",
    "SeenRun",
    "account_of",
    "ended_as",
]

Data = Mapping[str, JsonValue]

_CUT_OFF = frozenset(name for kind, name in ENDS.items() if kind not in CONCLUDED)
"""The statuses of runs that ended without a result."""
_SAID = ("result", "error_type", "message")
_OF_REFUSALS = ("plugin", "event_type", "reason")


@dataclass(frozen=True, slots=True)
class AccountEntry:
    """A fact, or an effect with its outcome."""

    scope: str
    type: str
    data: Data
    seq: int | None = None
    """The recorded event; None for what only a replayed program did."""
    kind: str = ""
    """The kind of an effect; empty for a fact."""
    outcome: str | None = None
    """``completed`` or ``failed``; None for a fact, or an effect without an outcome."""
    answer: Data | None = None
    """The data of the outcome."""
    answered: int | None = None
    """The recorded event that is the outcome."""
    optional: bool = False
    """Whether the program need not come to it: a resume superseded it."""
    inside: Mapping[str, tuple[AccountEntry, ...]] | None = field(
        default=None, compare=False
    )
    """The effects that its performer asked for, by its lane inside; None where that is
    not known: a replay answers an effect as a whole, and so does a fork."""
    links: FactLinks = NO_LINKS
    """The subjects and series of a fact."""
    called: str | None = field(default=None, compare=False)
    """The child run that was called; None where that is not known, as in a replay."""
    private: bool = field(default=False, compare=False)
    """Whether it is kept private, and shown to nobody who does not ask for that."""
    private_answer: bool = field(default=False, compare=False)
    """The same of its outcome."""


@dataclass(frozen=True, slots=True)
class AccountEnd:
    """How the program ended."""

    status: str
    data: Data
    """``result``, or ``error_type`` and ``message``."""
    seq: int | None = None
    private: bool = field(default=False, compare=False)
    """Whether it is kept private."""

    @property
    def concluded(self) -> bool:
        """Whether the program came to its end: nothing came of one that was cut off."""
        return self.status not in _CUT_OFF


@dataclass(frozen=True, slots=True)
class RunAccount:
    """What one program did, in one run."""

    run: str
    entries: tuple[AccountEntry, ...]
    end: AccountEnd | None
    """None for a run without a result, and for a program that was stopped."""
    stopped: bool = False
    """Whether it was stopped: what it would have done afterwards is not known."""
    told: tuple[Divergence, ...] = ()
    """Differences that only the replayed program itself can see: of its parameters."""
    gaps: tuple[Divergence, ...] = ()
    """What the record says it lacks."""
    attempts: tuple[tuple[str, str], ...] = ()
    """Forbidden attempts in a replay: the guard, and the audit event."""
    undeclared: tuple[tuple[int, str], ...] = ()
    """Event and type of what no active plugin declares: volatile fields are not known."""


@dataclass(frozen=True, slots=True)
class SeenRun:
    """What a replay saw, beside the record that it was compared with."""

    run: str
    record: Recorded
    done: tuple[Seen, ...]
    end: AccountEnd | None
    stopped: bool
    unsettled: frozenset[tuple[str, int]]
    """Scope and ordinal of each effect that was performed again, and came to no end."""
    told: tuple[Divergence, ...]
    gaps: tuple[Divergence, ...]
    attempts: tuple[tuple[str, str], ...]
    hide: Callable[[str], str]
    """Writes texts of errors as they would be written here."""

    def recorded(self) -> RunAccount:
        """Return the account of the recorded run.

        Raises:
            ErasedError: content that is needed was erased.

        """
        account = _recorded(self.record, self.run)
        end = account.end
        return account if end is None else replace(account, end=_hidden(end, self.hide))

    def observed(self) -> RunAccount:
        """Return the account of the program that was replayed.

        Raises:
            ErasedError: content that is needed was erased.

        """
        entries = tuple(self._entry(one) for one in self.done if is_compared(one.scope))
        return RunAccount(
            self.run,
            entries,
            self.end,
            self.stopped,
            self.told,
            self.gaps,
            self.attempts,
        )

    def _entry(self, one: Seen) -> AccountEntry:
        record = self.record
        if one.refused is not None:
            return _refusal(record, one.refused)
        if one.item is None:
            kind = one.type.rpartition(".")[0] if one.asks else ""
            data, links, private = one.data or {}, one.links, one.private
            return AccountEntry(
                one.scope, one.type, data, None, kind, links=links, private=private
            )
        entry = _of_item(record, one.item)
        if one.data is not None:
            entry = replace(entry, type=one.type, data=one.data, seq=None)
        if (one.item.scope, one.item.ordinal) in self.unsettled:
            entry = replace(entry, outcome=None, answer=None)
        elif one.outcome is not None:
            verb, answer = one.outcome[0].rpartition(".")[2], one.outcome[1]
            entry = replace(entry, outcome=verb, answer=answer)
        private = entry.private or one.private
        told = entry.private_answer or one.private_outcome
        return replace(entry, private=private, private_answer=told)


def account_of(ledger: Ledger, run: str) -> RunAccount:
    """Return the account of the recorded *run*.

    Raises:
        ErasedError: content that is needed was erased.

    """
    run = ledger.run_id(run)
    return _recorded(recorded_run(ledger, run), run, ledger)


def _recorded(record: Recorded, run: str, ledger: Ledger | None = None) -> RunAccount:
    """Return the account in *record*; with what effects hold, if there is a *ledger*."""
    entries = [
        _of_item(record, item) if ledger is None else _whole(ledger, record, item)
        for name, scope in record.scopes.items()
        if is_compared(name)
        for item in scope.items
        if item.kind or not item.superseded
    ]
    entries += [
        _refusal(record, event)
        for scope, event in record.refused()
        if is_compared(scope)
    ]
    return RunAccount(
        run,
        tuple(sorted(entries, key=lambda one: one.seq or 0)),
        _end(record),
        undeclared=tuple(_undeclared(record)),
    )


def _whole(ledger: Ledger, record: Recorded, item: Item) -> AccountEntry:
    """Return a fact; or an effect, with the effects inside and the run that it called."""
    entry = _of_item(record, item)
    lanes = lanes_of(record, item) if item.kind else None
    if lanes is None:
        return entry
    inside = {
        lane: tuple(_whole(ledger, record, one) for one in items)
        for lane, items in lanes.items()
    }
    return replace(entry, inside=inside, called=child_called(ledger, record, item))


def _of_item(record: Recorded, item: Item) -> AccountEntry:
    event, outcome = item.event, item.outcome
    entry = AccountEntry(
        item.scope,
        event.type,
        record.data(event),
        event.seq,
        item.kind,
        optional=item.superseded,
        links=item.links,
        private=is_private(event),
    )
    if outcome is None:
        return entry
    verb = outcome.type.rpartition(".")[2]
    answer = record.data(outcome)
    private, seq = is_private(outcome), outcome.seq
    return replace(
        entry, outcome=verb, answer=answer, answered=seq, private_answer=private
    )


def _refusal(record: Recorded, event: Event) -> AccountEntry:
    told = record.data(event)
    data = {name: told[name] for name in _OF_REFUSALS if name in told}
    return AccountEntry(cast("str", told["scope"]), REFUSED, data, event.seq)


def _end(record: Recorded) -> AccountEnd | None:
    last = [event for event in record.events if event.type in LIFE][-1]
    if last.type not in CONCLUDED:
        ended = last.type in ENDS
        return AccountEnd(ENDS[last.type], {}, last.seq) if ended else None
    data = record.data(last)
    said = {name: data[name] for name in _SAID if name in data}
    return AccountEnd(_status(last), said, last.seq, is_private(last))


def ended_as(
    ended: Mapping[str, JsonValue], recorded: Event, hide: Callable[[str], str]
) -> AccountEnd:
    """Return how a replayed program *ended*, in the words of the *recorded* end.

    Which failure it is says the error itself. Its text is as it would be written here.
    """
    kind = cast("str", ended["type"])
    status = ENDS[kind] if kind != recorded.type else _status(recorded)
    said = {name: ended[name] for name in _SAID if name in ended}
    private = ended.get(VISIBILITY) == PRIVATE
    return _hidden(AccountEnd(status, said, private=private), hide)


def _hidden(end: AccountEnd, hide: Callable[[str], str]) -> AccountEnd:
    text = end.data.get("message")
    if not isinstance(text, str):
        return end
    return replace(end, data={**end.data, "message": hide(text)})


def _status(end: Event) -> str:
    return cast("str", end.raw.get("status", ENDS[end.type]))


def _undeclared(record: Recorded) -> Iterator[tuple[int, str]]:
    for event in record.undeclared():
        if is_compared(event.scope or ""):
            yield event.seq, event.type

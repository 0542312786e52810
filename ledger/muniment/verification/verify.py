"""Verifies a ledger from first principles; says which rule broke, and where.

    >>> report = verify("work/.muniment/ledger.db")
    >>> report.integrity, report.authenticity, report.completeness, report.exit_code
    ('intact', 'pinned', 'checked', 0)

Rules:

- It uses nothing of the writer, no query, cache or state: only its own read-only
  connection and format modules, and no plugin. The other modules here do the parts.
- The trust home is read first, then one snapshot is judged: a ledger may be written to
  all the while.
- *wrong* if evidence contradicts itself or the memory; *cannot tell* if something is
  missing or unreadable; never a traceback because of a file's bytes.
- Verifying with a key never accepts it. Nothing is written anywhere, unless the state
  of an intact ledger should be remembered; then only into the trust home.
- Shorter than remembered is wrong at the ledger's own location, and against a given
  anchor. Elsewhere a true prefix is an older copy: a backup is sound.

``docs/trust.md`` says which attackers each check stops.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path

from muniment.errors import (
    CannotTellError,
    MunimentError,
    StoreError,
    WorkerDied,
    WrongError,
)
from muniment.trust.home import TrustHome
from muniment.verification.counts import Count
from muniment.verification.event_pass import EventPass
from muniment.verification.memory import GivenKey, Memory, is_pinned, recall
from muniment.verification.report import Finding, Findings, Report, judge
from muniment.verification.signatures import InProcess, signature_check
from muniment.verification.snapshot import Snapshot, open_snapshot
from muniment.verification.tally import tally
from muniment.verification.unowned_bytes import unowned

__all__ = ["Finding", "Report", "verify"]

_AHEAD = timedelta(days=1)
"""How far ahead of this clock an event's time may be without a remark."""
_NOBODY = "sha256:" + "0" * 64
_GONE = frozenset({"file/missing", "file/not-a-ledger"})

Progress = Callable[[int, int], None]


def verify(  # noqa: PLR0913 - each is a choice of its own
    target: str | os.PathLike[str],
    *,
    keys: Iterable[GivenKey] | None = None,
    anchor: str | os.PathLike[str] | None = None,
    fast: bool = False,
    trust_on_first_use: bool = False,
    require_complete: bool = False,
    home: TrustHome | Path | str | None = None,
    progress: Progress | None = None,
    remember: bool = False,
) -> Report:
    """Verify the ledger file *target*.

    Args:
        target: a path, or ``sqlite:///PATH``.
        keys: public keys to trust instead of the pins of the trust home: objects,
            fingerprints (``SHA256:…``), PEM or SSH text, or files of these.
        anchor: a file of checkpoint notes that somebody else kept.
        fast: trust valid checkpoints for the signatures of the events under them; do not
            look into blobs and indexes, do not count runs.
        trust_on_first_use: exit code 0 even if no key is pinned; ``ok`` stays false.
        require_complete: exit code 3 if nothing remembers how long the log was.
        home: the trust home; by default that of ``MUNIMENT_HOME`` or the platform.
        progress: called with (events done, events in all), at most 20 times a second.
        remember: keep in the trust home what was seen, if the ledger is intact, every
            signature was checked, and its keys are pinned or trusted on first use.

    """
    started = time.monotonic()
    trust = (
        home
        if isinstance(home, TrustHome)
        else TrustHome(None if home is None else Path(home))
    )
    state = _State(str(target), trust)
    try:
        try:
            _judge(state, keys, anchor, fast=fast, progress=progress)
        except WorkerDied as error:
            state = _State(str(target), trust, alone=True)
            state.findings.notes.append(f"{error.message}; checked without it")
            _judge(state, keys, anchor, fast=fast, progress=progress)
    except StoreError as error:
        state.unreadable(error)
    except MunimentError as error:
        state.findings.add_error("unreadable", error)
    report = state.report(
        fast=fast,
        trust_on_first_use=trust_on_first_use,
        require_complete=require_complete,
        seconds=time.monotonic() - started,
    )
    known = report.authenticity == "pinned" or trust_on_first_use
    return _remembered(report, trust) if remember and known else report


def _remembered(report: Report, home: TrustHome) -> Report:
    """Remember what *report* saw; say so if that fails."""
    if report.findings or report.integrity != "intact" or report.fast:
        return report
    if report.ledger is None or report.root is None:
        return report
    try:
        home.note_seen(
            report.target, report.ledger, report.size, bytes.fromhex(report.root)
        )
    except MunimentError as error:
        note = f"not remembered: {error.message} ({error.place})"
        return replace(report, notes=(*report.notes, note))
    return report


@dataclass(slots=True)
class _State:
    """The state of one verification."""

    target: str
    home: TrustHome
    findings: Findings = field(default_factory=Findings)
    known: str | None = None
    """The ledger id that the trust home has for this location."""
    least: float = 0
    """The size that was seen at this location; infinite where a writer keeps it."""
    ledger: str | None = None
    memory: Memory = field(default_factory=Memory)
    events: EventPass | None = None
    pinned: bool = False
    signatures: int = 0
    erased: int = 0
    alone: bool = False
    """Whether the process checks all signatures itself."""

    def unreadable(self, error: StoreError) -> None:
        """Report that a known ledger is gone, or that a file cannot be judged."""
        if self.known is not None and error.rule in _GONE:
            self.truncated(f"the ledger that was here is gone: {error.message}", 0)
        else:
            self.findings.add_error("unreadable", error)

    def _counts(self, events: EventPass, *, fast: bool) -> tuple[Count, ...]:
        return tally(
            events,
            self.memory,
            signatures=self.signatures,
            erased=self.erased,
            fast=fast,
        )

    def truncated(self, message: str, seq: int, kind: str = "truncated") -> None:
        """Report that the log is shorter than somebody remembers."""
        rule = "head/truncated" if kind == "truncated" else "head/rolled-back"
        remedy = (
            "restore the newest copy, or open a successor in another directory: "
            f"`muniment init DIR --continues {self.ledger or self.known} --reason R`"
        )
        self.findings.add(
            kind, rule, message, seq=seq, place=self.target, remedy=remedy
        )

    def report(
        self,
        *,
        fast: bool,
        trust_on_first_use: bool,
        require_complete: bool,
        seconds: float,
    ) -> Report:
        """Weigh all findings."""
        events = self.events
        counts = self._counts(events, fast=fast) if events else ()
        self.findings.add_lacking(counts, self.target)
        found = self.findings.sorted()
        verdict = judge(
            found,
            looked=self.events is not None,
            pinned=self.pinned,
            remembered=self.memory.checked(self.events.size if self.events else 0),
            trust_on_first_use=trust_on_first_use,
            require_complete=require_complete,
        )
        if trust_on_first_use and not self.pinned and not found:
            self.findings.notes.append(
                "trusted on first use: nobody vouched for the keys of this ledger"
            )
        size = events.size if events else 0
        return Report(
            ok=verdict.ok,
            exit_code=verdict.exit_code,
            integrity=verdict.integrity,
            authenticity=verdict.authenticity,
            completeness=verdict.completeness,
            findings=found,
            notes=tuple(self.findings.notes),
            target=self.target,
            ledger=self.ledger,
            size=size,
            head=events.head.hex() if events and events.head else None,
            root=events.tree.frontier.root().hex() if size and events else None,
            counts=counts,
            events_checked=events.events if events else 0,
            signatures_checked=self.signatures,
            erased=self.erased,
            open_runs=tuple(events.runs.open()) if events else (),
            anchored=self.memory.anchored(size),
            fast=fast,
            seconds=seconds,
        )


def _judge(
    state: _State,
    keys: Iterable[GivenKey] | None,
    anchor: str | os.PathLike[str] | None,
    *,
    fast: bool,
    progress: Progress | None,
) -> None:
    written = state.home.places(state.target)[0]
    if "://" in written:
        raise CannotTellError(
            "only ledger files of SQLite can be verified",
            rule="file/scheme",
            place=written,
            remedy="verify where the file is",
        )
    _look_up(state)
    with open_snapshot(Path(written), state.home.blobs_of(written)) as snapshot:
        readable = snapshot.check_schema(state.findings)
        claimed = snapshot.ledger_id() if readable else None
        state.ledger = claimed or state.known
        state.memory = recall(
            state.home, state.ledger or _NOBODY, keys, anchor, state.findings
        )
        # Only now: memory first, then the snapshot that it is compared with.
        readable = snapshot.renew(claimed, state.findings) and readable
        _compare_location(state, claimed)
        if readable:
            if not fast:
                snapshot.check_pages(state.findings)
            _judge_log(state, snapshot, fast=fast, progress=progress)
            _note_returned(state, snapshot)
            if not fast:
                state.findings.notes.extend(unowned(snapshot))


def _look_up(state: _State) -> None:
    """Find the ledger that was here, known from its writer or a verification."""
    try:
        state.known = state.home.ledger_at(state.target)
    except WrongError as error:
        state.findings.add_error("foreign", error)
    state.least = 0 if state.known is None else inf
    seen = state.home.seen_at(state.target)
    if state.known is None and seen is not None:
        state.known, state.least = seen.ledger, seen.size


def _note_returned(state: _State, snapshot: Snapshot) -> None:
    """Note blobs of a copy that were erased after it was made."""
    erased = state.home.erasures(state.ledger or _NOBODY)
    number = sum(
        snapshot.holds(bytes.fromhex(ref.removeprefix("sha256:"))) for ref in erased
    )
    if number:
        state.findings.notes.append(
            f"{number} of the blobs that were erased are here again; those that an "
            "event names go when the ledger is opened for writing"
        )


def _compare_location(state: _State, claimed: str | None) -> None:
    if claimed is None:
        return
    if state.known is None:
        places = state.home.locations(claimed)
        if places:
            note = f"this ledger is also known at {', '.join(places)}"
            state.findings.notes.append(note)
    elif claimed != state.known:
        state.findings.add(
            "foreign",
            "ledger/foreign",
            f"another ledger is where {state.known} was",
            place=state.target,
            remedy=f"find the ledger that was here, or `muniment forget {state.target}`",
        )


def _judge_log(
    state: _State, snapshot: Snapshot, *, fast: bool, progress: Progress | None
) -> None:
    total = snapshot.count("event")
    if not total:
        _judge_empty(state, snapshot)
        return
    covered = snapshot.value("SELECT max(size) FROM checkpoint") if fast else 0
    beyond = total - covered if isinstance(covered, int) else total
    signatures = InProcess() if state.alone else signature_check(beyond)
    try:
        events = EventPass(
            snapshot,
            state.findings,
            signatures,
            state.ledger or _NOBODY,
            state.memory.marks,
            fast=fast,
        )
        state.events = events
        events.run(total, progress)
        state.erased = events.blobs.finish(broken=bool(events.odd or events.tree.lost))
        checked, bad = signatures.finish()
    finally:
        signatures.close()
    state.signatures = checked + events.keys.checked
    for seq in bad:
        events.keys.add_bad(seq)
    if events.keys.keyring is None:
        what = "no genesis says which keys count"
        state.findings.add("missing", "event/genesis", what, place=state.target)
    else:
        keyring, size = events.keys.keyring, events.size
        state.memory.settle(keyring, state.ledger or _NOBODY, size, state.findings)
        older = state.memory.longest > size
        state.pinned = is_pinned(state.memory, keyring, state.findings, older=older)
    _compare_length(state, events)
    _note_time(state, events)


def _note_time(state: _State, events: EventPass) -> None:
    limit = (datetime.now(UTC) + _AHEAD).isoformat(timespec="microseconds")
    if events.time > limit:
        what = f"an event says {events.time}, far ahead of the clock here"
        state.findings.notes.append(f"{what}; its time is its writer's claim")


def _judge_empty(state: _State, snapshot: Snapshot) -> None:
    if state.known is not None:
        state.truncated("the ledger that was here has no event any more", 0)
    elif any(map(snapshot.count, ("subject", "blob", "tile", "checkpoint"))):
        what = "there is no event, and yet something about events"
        state.findings.add("missing", "event/seq", what, seq=0, place=state.target)
    else:
        raise StoreError(
            "the ledger has no event, not even its opening",
            rule="file/empty",
            place=state.target,
            remedy="ask who keeps it for a copy",
        )


def _compare_length(state: _State, events: EventPass) -> None:
    size, memory = events.size, state.memory
    due = max(min(state.least, memory.longest), memory.demanded)
    if memory.longest <= size:
        return
    behind = _events(memory.longest - size)
    if due <= size:
        state.findings.notes.append(f"this is an older copy, {behind} behind")
    elif memory.recognised and not len(state.findings):
        what = f"this is an older copy, {behind} behind"
        state.truncated(what, size, "rolled-back")
    else:
        state.truncated(f"the log is {behind} shorter than remembered", size)


def _events(number: int) -> str:
    return "1 event" if number == 1 else f"{number} events"

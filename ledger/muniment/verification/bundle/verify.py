"""Verifies an evidence bundle: the record of one run, without its ledger.

    >>> report = verify_bundle("evidence.zip", keys=["SHA256:bbXpuKG6…"])
    >>> report.integrity, report.authenticity, report.completeness, report.exit_code
    ('intact', 'pinned', 'checked', 0)

Rules:

- It needs the bundle alone: no ledger, no plugin, no network. It remembers nothing.
- Every file is compared: with the signed tree, with MANIFEST, or with what it must be;
  MANIFEST with the closing event. A file that is missing, or strange, is wrong by its name.
- Rows are judged by the same modules as those of a ledger. The keys count if a pinned or
  given root signed the genesis that the bundle begins with.
- *Completeness* is *checked* if the run's end states root and counts of all events before it,
  and the runs upon which it rests are here. Nothing is said of events after the last one.
- What ``run.json`` says of the run is derived from its events again, member by member.
- A run that is marked is named with its marks: that changes no verdict on the bundle.
- Pinned keys, anchors and remembered states are compared where a tree head has their size.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from muniment.errors import CannotTellError, MunimentError, WorkerDied, WrongError
from muniment.formats.checkpoint import Checkpoint
from muniment.formats.evidence import (
    CHECKPOINT,
    CLOSING,
    CLOSING_CHECKPOINT,
    CLOSING_FILES,
    EVENTS,
    LEDGER_PUB,
    LEDGER_VKEY,
    MANIFEST,
    OF_CLOSED,
    POLICY,
    PROOFS,
    RUN,
    SELF_PROVING,
    TRUSTED_ROOT,
    WithheldEvent,
    parse_manifest_line,
    parse_proof,
)
from muniment.formats.merkle import verify_inclusion
from muniment.trust.home import TrustHome
from muniment.verification.bundle.closing import (
    TreeHead,
    compare_closing,
    placed,
    read_head,
    trust_files,
)
from muniment.verification.bundle.members import Members, opened
from muniment.verification.bundle.record import BundledEvent, BundleRecord
from muniment.verification.bundle.remembered import compare_memory
from muniment.verification.bundle.runs_beside import RunsBeside
from muniment.verification.bundle.tally import covered, tally
from muniment.verification.counts import Count
from muniment.verification.memory import GivenKey, Memory, recall
from muniment.verification.report import Findings, Report, judge
from muniment.verification.signatures import SignatureCheck, signature_check

__all__ = ["verify_bundle"]

Progress = Callable[[int, int], None]

_GIVEN_OUT = (LEDGER_PUB, LEDGER_VKEY, TRUSTED_ROOT, POLICY)
"""Small files that follow from keys."""
_ALWAYS = frozenset({MANIFEST, EVENTS, PROOFS, CHECKPOINT, *_GIVEN_OUT})
_LONGEST_LINE = 8192
_SMALLEST_LINE = 900
"""About as long as the shortest event, in its envelope."""
_SMALL = 1 << 20
_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"


def verify_bundle(  # noqa: PLR0913 - each is a choice of its own
    target: str | os.PathLike[str],
    *,
    keys: Iterable[GivenKey] | None = None,
    anchor: str | os.PathLike[str] | None = None,
    trust_on_first_use: bool = False,
    require_complete: bool = False,
    home: TrustHome | Path | str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Verify the evidence bundle *target*.

    Args:
        target: the directory or the zip file that ``muniment bundle`` wrote.
        keys: public keys to trust instead of the pins of the trust home: objects,
            fingerprints (``SHA256:…``), PEM or SSH text, or files of these.
        anchor: a file of checkpoint notes that somebody else kept.
        trust_on_first_use: exit code 0 even if no key is pinned; ``ok`` stays false.
        require_complete: exit code 3 if completeness is not *checked*.
        home: the trust home; by default that of ``MUNIMENT_HOME`` or the platform.
        progress: called with (bytes read, bytes in all) of the events.

    """
    started = time.monotonic()
    if not isinstance(home, TrustHome):
        home = TrustHome(None if home is None else Path(home))
    try:
        state = _judged(target, progress, home, keys, anchor)
    except WorkerDied as error:
        state = _judged(target, progress, home, keys, anchor, alone=True)
        state.findings.notes.append(
            f"{error.message}; all signatures were checked by one process"
        )
    return state.report(
        trust_on_first_use=trust_on_first_use,
        require_complete=require_complete,
        seconds=time.monotonic() - started,
    )


def _judged(
    target: str | os.PathLike[str],
    progress: Progress | None,
    home: TrustHome,
    keys: Iterable[GivenKey] | None,
    anchor: str | os.PathLike[str] | None,
    *,
    alone: bool = False,
) -> _State:
    """Return what came of comparing every file; *alone* starts no process for it."""
    state = _State(str(target), progress, alone)
    with state.tried(), opened(Path(target)) as members:
        state.judge(members, home, keys, anchor)
    return state


@dataclass(slots=True)
class _State:
    """The state of one verification."""

    target: str
    progress: Progress | None = None
    alone: bool = False
    """Whether the process checks all signatures itself."""
    findings: Findings = field(default_factory=Findings)
    memory: Memory = field(default_factory=Memory)
    record: BundleRecord | None = None
    beside: RunsBeside | None = None
    pinned: bool = False
    closed: bool = False
    heads: list[TreeHead] = field(default_factory=list[TreeHead])
    files: int = 0
    matching: int = 0
    proofs: int = 0
    given: int = 0
    closing: BundledEvent | None = None

    @contextmanager
    def tried(self) -> Generator[None]:
        """Make a finding of whatever a step refuses; the next steps go on."""
        try:
            yield
        except WorkerDied:
            raise
        except MunimentError as error:
            self.findings.add_error("edited", error)

    def judge(
        self,
        members: Members,
        home: TrustHome,
        keys: Iterable[GivenKey] | None,
        anchor: str | os.PathLike[str] | None,
    ) -> None:
        """Compare every file of the bundle."""
        self.closed = bool(members.sizes.keys() & OF_CLOSED)
        self._require(members)
        if MANIFEST in members.sizes:
            with self.tried():
                self._compare_manifest(members)
        if EVENTS not in members.sizes:
            return
        events = 0 if self.alone else members.sizes[EVENTS] // _SMALLEST_LINE
        signatures = signature_check(events)
        try:
            self._judge_events(members, signatures, home, keys, anchor)
        finally:
            signatures.close()

    def _judge_events(
        self,
        members: Members,
        signatures: SignatureCheck,
        home: TrustHome,
        keys: Iterable[GivenKey] | None,
        anchor: str | os.PathLike[str] | None,
    ) -> None:
        record = self.record = BundleRecord(members, self.findings, signatures)
        beside = self.beside = RunsBeside(members, record, self.findings)
        with self.tried():
            try:
                record.read(self.progress)
            except CannotTellError as error:
                if error.rule != "key/formats":
                    raise
                self.findings.add_error("edited", error)
                return  # nothing of a version that is not known here is judged
        with self.tried():
            beside.read()
        with self.tried():
            self._compare_tree(members, record, beside)
        record.blobs.finish()
        if self.heads and CLOSING in members.sizes:
            with self.tried():
                self._compare_closing(members, record)
        if self.closing is not None:  # which says what series are shown
            record.compare_page(self.heads[0].checkpoint, beside.series.shown)
        if RUN in members.sizes and record.run:
            with self.tried():
                record.compare_view()
        record.finish()
        beside.finish(self.closing)
        with self.tried():
            self._compare_given(members, record)
        if record.ledger:
            self.memory = recall(home, record.ledger, keys, anchor, self.findings)
            heads, given = self.heads, anchor is not None
            self.pinned = compare_memory(
                self.memory, record, heads, self.closing, self.findings, given=given
            )

    def _require(self, members: Members) -> None:
        for name, kind in sorted(members.strangers.items()):
            what = f"{kind} that no bundle has"
            self._add("inserted", "bundle/member", what, name)
        wanted = _ALWAYS | CLOSING_FILES if self.closed else _ALWAYS
        for name in sorted(wanted - members.sizes.keys()):
            self._add("missing", "bundle/missing", "the file is missing", name)
        for name, size in members.sizes.items():
            if members.is_large(name):
                what = f"it has {size} bytes, more than any such file"
                self._add("edited", "bundle/size", what, name)

    def _compare_manifest(self, members: Members) -> None:
        listed: dict[str, bytes] = {}
        for line in members.lines(MANIFEST, _LONGEST_LINE):
            name, digest = parse_manifest_line(line)
            if listed and name <= next(reversed(listed)):
                what = f"{name} is listed twice, or not in order"
                self._add("edited", "bundle/manifest", what, MANIFEST)
            listed[name] = digest
        covered = members.sizes.keys() - SELF_PROVING
        self.files = len(covered | listed.keys())
        for name in sorted(listed.keys() - covered):
            what = f"{MANIFEST} lists the file, and it is missing"
            self._add("missing", "bundle/missing", what, name)
        for name in sorted(covered - listed.keys()):
            what = f"{MANIFEST} does not list the file"
            self._add("inserted", "bundle/unlisted", what, name)
        for name in sorted(covered & listed.keys()):
            if members.is_large(name):
                continue  # its size is a finding, and it is not read
            if members.digest(name) == listed[name]:
                self.matching += 1
            else:
                what = f"the file has another digest than {MANIFEST} says"
                self._add("edited", "bundle/digest", what, name)

    def _compare_tree(
        self, members: Members, record: BundleRecord, beside: RunsBeside
    ) -> None:
        if record.keyring is None or CHECKPOINT not in members.sizes:
            return
        head = read_head(members, CHECKPOINT, record.keyring, record.ledger)
        self.heads.append(head)
        if PROOFS not in members.sizes:
            return
        events = [*record.events, *beside.events, *record.withheld.events]
        lines = members.lines(PROOFS, _LONGEST_LINE)
        number = 0
        for number, line in enumerate(lines, 1):
            event = events[number - 1] if number <= len(events) else None
            with self.tried(), placed(f"{PROOFS}:{number}"):
                self._compare_proof(line, event, head.checkpoint)
        if number != len(events):
            what = f"{number} proofs of the {len(events)} events in {beside.names}"
            self._add("missing", "bundle/proof", what, PROOFS)

    def _compare_proof(
        self, line: bytes, event: BundledEvent | WithheldEvent | None, tree: Checkpoint
    ) -> None:
        seq, hashes = parse_proof(line)
        if event is None:
            return  # the line of its event has a finding, or there is none
        if seq != event.seq or not verify_inclusion(
            event.leaf, seq, tree.size, hashes, tree.root
        ):
            what = (
                f"it does not lead from event {event.seq} to the root of {CHECKPOINT}"
            )
            raise WrongError(
                what, rule="bundle/inclusion", seq=event.seq, place="", remedy=_ASK
            )
        self.proofs += 1

    def _compare_closing(self, members: Members, record: BundleRecord) -> None:
        if not {CLOSING_CHECKPOINT, MANIFEST} <= members.sizes.keys():
            return  # that they are missing is a finding
        with placed(CLOSING):
            found = compare_closing(members, record, self.heads[0], self.findings)
        if found is not None:
            self.closing = found[0]
            self.heads.append(found[1])
            if self.beside is not None:
                self.beside.compare(found[0])

    def _compare_given(self, members: Members, record: BundleRecord) -> None:
        signed = self.closing if self.closed else record.last_of_run
        if signed is None or not self.heads:
            return  # without a key there is nothing to compare, and a finding says why
        for name, data in trust_files(signed.signer, self.heads[-1]).items():
            if name not in members.sizes or members.is_large(name):
                continue  # it is missing or too large, which is a finding
            with self.tried():
                if members.read(name, _SMALL) == data:
                    self.given += 1
                else:
                    what = "it is not what the keys of this bundle give"
                    self._add("edited", "bundle/trust-file", what, name)

    def _add(self, kind: str, rule: str, message: str, place: str) -> None:
        self.findings.add(kind, rule, message, place=place, remedy=_ASK)

    def _counts(self) -> tuple[Count, ...]:
        files = Count("files", self.matching, self.files)
        if self.record is None or self.beside is None:
            return (files,)
        counts = tally(
            self.record,
            self.beside,
            proofs=self.proofs + (self.closing is not None),
            heads=len(self.heads),
            closed=self.closed,
            given=self.given,
        )
        return (files, *counts)

    def report(
        self, *, trust_on_first_use: bool, require_complete: bool, seconds: float
    ) -> Report:
        """Weigh all findings."""
        record, counts = self.record, self._counts()
        self.findings.add_lacking(counts, self.target)
        found = self.findings.sorted()
        judged = None if record is None else record.record
        proven = judged is not None and judged.proven
        lacks = () if self.beside is None else self.beside.lacks
        verdict = judge(
            found,
            looked=record is not None,
            pinned=self.pinned,
            remembered=proven and not lacks,
            trust_on_first_use=trust_on_first_use,
            require_complete=require_complete,
        )
        notes = self.findings.notes
        if record is not None and not self.closed:
            notes.append("a raw bundle: no event closes it, and it has no views")
        notes += [] if self.beside is None else self.beside.notes
        if trust_on_first_use and not self.pinned and not found:
            notes.append(
                "trusted on first use: nobody vouched for the keys of this ledger"
            )
        run = "" if record is None else record.run
        last = None if record is None else record.last
        return Report(
            ok=verdict.ok,
            exit_code=verdict.exit_code,
            integrity=verdict.integrity,
            authenticity=verdict.authenticity,
            completeness=verdict.completeness,
            findings=found,
            notes=tuple(notes),
            target=self.target,
            ledger=(record.ledger or None) if record else None,
            size=0 if last is None else last.seq + 1,
            head=None if last is None else last.leaf.hex(),
            counts=counts,
            events_checked=0 if judged is None else judged.sound,
            signatures_checked=0 if record is None else record.signatures,
            erased=0 if record is None else record.blobs.erased,
            open_runs=(run,) if judged is not None and judged.open else (),
            incomplete=lacks,
            marked=() if record is None else tuple(record.marks.said()),
            anchored=covered(record, proven=proven),
            seconds=seconds,
        )

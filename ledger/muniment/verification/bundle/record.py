"""The events of a bundle: the record of one run, judged as a ledger's rows are.

    0 ledger.opened    the keys
    7 run.started …    the run, in order
    9 decision.given   answers to its questions, erasures of its blobs

Rules:

- Each line is an envelope; the key is that which a key event before it, or itself,
  gives its key id. Everything else is judged by `RunRecord`, as for a replay: statement,
  key and interval, signature, ordinals, decisions, root and counts of the run.
- Data of kernel types, public digests, references to blobs and, between neighbours, the
  chain are judged as in the pass over a log.
- Of an event that is withheld, leaf hash and claimed place are counted; nothing else is known.
- The file has the events of one run, those about keys, the answers to the run's
  questions and the erasures of its blobs, in the order of the log, and no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from orjson import loads

from muniment.encoding.canonical import sha256_tag
from muniment.errors import KeyRefused, WrongError
from muniment.formats.checkpoint import Checkpoint
from muniment.formats.decisions import ASKED, GIVEN
from muniment.formats.dsse import Envelope, decode_base64, entry_hash, spki_base64
from muniment.formats.evidence import EVENTS, blob_name
from muniment.formats.lifecycle import FAILURES
from muniment.formats.series import SeriesLink
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import Keyring
from muniment.verification.bundle.blobs import BundleBlobs
from muniment.verification.bundle.elsewhere import Elsewhere
from muniment.verification.bundle.members import Members
from muniment.verification.bundle.named_runs import NamedRuns
from muniment.verification.bundle.report_page import BundlePage, compare_view
from muniment.verification.bundle.withheld_events import WithheldEvents
from muniment.verification.page.computed import BundleEnd
from muniment.verification.page.run_marks import RunMarks
from muniment.verification.page.run_view import RunView
from muniment.verification.public_digests import FIELDS as PUBLIC
from muniment.verification.public_digests import misstated
from muniment.verification.report import MALFORMED, Findings
from muniment.verification.runs.run_record import KEY_TYPES, RunRecord
from muniment.verification.series import links_of
from muniment.verification.signatures import SignatureCheck
from muniment.verification.statements.blob_references import SALT, blob_tag
from muniment.verification.statements.kernel_data import described, fault
from muniment.verification.statements.rows import Row

__all__ = ["ERASED", "LONGEST_LINE", "UNREAD", "BundleRecord", "BundledEvent"]

LONGEST_LINE = 100_000
"""An envelope around the largest payload has fewer bytes."""
_TICK = 256
UNREAD = 1_000
"""Lines that are no envelopes, after which the rest is not read."""
ERASED = "blob.erased"
_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"


@dataclass(frozen=True, slots=True)
class BundledEvent:
    """One event, as far as proofs and the closing event need it."""

    seq: int
    kind: str
    run: str | None
    leaf: bytes
    signer: PublicKey
    time: str
    """When, as it says; "" if that cannot be read, which its row is told."""
    prev: str | None
    """The leaf hash that it names as that of the event before."""
    links: tuple[SeriesLink, ...]
    """Its places in series; none if they cannot be read, which its row is told."""
    became: str | None
    """How its run ended by it, if it failed."""
    statement: Any
    """None once it was judged: there may be many events."""

    def judged(self) -> BundledEvent:
        """Return what is still asked of the event when the next one is judged."""
        return replace(self, statement=None)

    def row(self, envelope: Envelope) -> Row:
        """Return the event as a row of a ledger."""
        signed = (envelope.payload, envelope.signature, self.signer.raw)
        return (self.seq, self.kind, self.run, *signed, self.leaf)


class BundleRecord:
    """Reads and judges the events of one bundle."""

    def __init__(
        self, members: Members, findings: Findings, signatures: SignatureCheck
    ) -> None:
        self._members = members
        self._findings = findings
        self._signatures = signatures
        self._publics: dict[str, PublicKey] = {}
        self._record: RunRecord | None = None
        self._waiting: list[Row] = []
        """Rows from before the run, whose id is not known yet."""
        self._asked: set[str] = set()
        self._withheld = WithheldEvents(members, findings)
        self.withheld = self._withheld.all
        self.blobs = BundleBlobs(members, findings, self.withheld.blobs)
        self.elsewhere = Elsewhere()
        self.named = NamedRuns()
        self.marks = RunMarks()
        self._view = RunView()
        self.ledger = ""
        self.run = ""
        self.lines = 0
        self.signatures = 0
        self.events: list[BundledEvent | None] = []
        """One for each line; None if it could not be read."""
        self.key_rows: list[Row] = []
        """The events about keys."""
        self.page = BundlePage.of(members, findings)
        """The report, which is told of each event."""

    @property
    def keyring(self) -> Keyring | None:
        """The keys at the end of the file."""
        return None if self._record is None else self._record.keys.keyring

    @property
    def record(self) -> RunRecord | None:
        """The judgement of the rows; None without an event of a run."""
        return self._record

    @property
    def notes(self) -> list[str]:
        """What the reader has to know of what is withheld."""
        return self._withheld.notes

    @property
    def last(self) -> BundledEvent | None:
        """The last event."""
        return next((one for one in reversed(self.events) if one is not None), None)

    @property
    def last_of_run(self) -> BundledEvent | None:
        """The last event of the run."""
        found = (one for one in reversed(self.events) if one is not None and one.run)
        return next(found, None)

    def read(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Judge every line of the file; *progress* gets bytes read, and in all."""
        done = unread = 0
        for line in self._members.lines(EVENTS, LONGEST_LINE):
            self.lines += 1
            done += len(line)
            if progress is not None and not self.lines % _TICK:
                progress(done, self._members.sizes[EVENTS])
            place = f"{EVENTS}:{self.lines}"
            try:
                envelope = Envelope.from_json(line[:-1])
            except WrongError as error:
                self._findings.add_error("edited", error, place=place)
                self.events.append(None)
                unread += 1
                if unread == UNREAD:
                    self._add("edited", "event/shape", "too much is no event", EVENTS)
                    break
                continue
            judged = self._judge(envelope, place)
            self.events.append(None if judged is None else judged.judged())
        self._withheld.before(None, self._record)
        if not self.run:
            self._add("missing", "run/start", "there is no event of a run", EVENTS)

    def close(self, envelope: Envelope, place: str) -> BundledEvent | None:
        """Judge the closing event, which follows all others and is in no run."""
        before = self.last
        judged = self.read_event(envelope, place)
        if judged is not None and self._record is not None:
            self._take(judged, envelope)
            with self.shaped(judged, place):
                self._compare_chain(judged, before, place)
        return judged

    def finish(self) -> None:
        """Report what the rows break; afterwards `signatures` says how many hold."""
        if self._record is None:
            return
        self.signatures, findings = self._record.finish()
        for one in findings:
            place = f"{EVENTS}, {one.place}"
            self._add(one.kind, one.rule, one.message, place, one.seq)

    # -- one line --------------------------------------------------------------------

    def _judge(self, envelope: Envelope, place: str) -> BundledEvent | None:
        before = self.last
        judged = self.read_event(envelope, place)
        if judged is None:
            return None
        hidden = self._withheld.before(judged.seq, self._record)
        if hidden is not None and (before is None or hidden.seq > before.seq):
            self._compare_hash(judged, hidden.seq, hidden.leaf, place)
        if before is not None and judged.seq <= before.seq:
            what = f"event {judged.seq} comes after event {before.seq}"
            self._add("reordered", "event/seq", what, place, judged.seq)
        if not self._belongs(judged):
            what = f"{judged.kind} belongs neither to the run nor to its keys"
            self._add("inserted", "bundle/stranger", what, place, judged.seq)
        self._take(judged, envelope)
        with self.shaped(judged, place):
            self._compare(judged, before, place)
            self.show(judged)
        return judged

    def show(self, event: BundledEvent) -> None:
        """Let the report compare what it cites of *event*."""
        if self.page is not None:
            leaf, signer = event.leaf, event.signer.keyid
            with suppress(*MALFORMED):  # the event itself is a finding
                self.page.take(event.statement, leaf, signer, self.ledger)

    def compare_page(self, tree: Checkpoint, shown: frozenset[str]) -> None:
        """Report what differs on the page; of the series *shown* every event is here."""
        hidden = frozenset(one.seq for one in self.withheld.events)
        blobs = self.blobs.erased_tags, self.withheld.blobs
        end = BundleEnd(tree.size, tree.root.hex(), *blobs, hidden, shown)
        if self.page is not None:
            self.page.finish(end, self.run, self._findings)

    def compare_view(self) -> None:
        """Report what ``run.json`` says, and the events of the run do not."""
        compare_view(self._view, self._members, self.withheld, self._findings)

    def read_event(self, envelope: Envelope, place: str) -> BundledEvent | None:
        """Return the event with its signer; None if either cannot be read."""
        try:
            statement = loads(envelope.payload)
            predicate = statement["predicate"]
            chain, data = predicate["muniment"], predicate["data"]
            seq, kind, run = chain["seq"], chain["type"], chain.get("run")
            shaped = type(seq) is int and type(kind) is str and type(data) is dict
            prev, became = chain.get("prev"), cast("Any", data).get("status")
            named = isinstance(run, str | None) and isinstance(prev, str | None)
            if not shaped or not named:
                raise TypeError
            self._learn(kind, data)
        except MALFORMED:
            self._add("edited", "event/shape", "it is no statement of ours", place)
            return None
        if not self.ledger:
            self.ledger = sha256_tag(envelope.payload)
        signer = self._publics.get(envelope.keyid)
        if signer is None:
            what = f"no event up to here enrols {envelope.keyid}"
            self._add("key", "key/unknown", what, place, seq)
            return None
        spki = spki_base64(signer)
        leaf = entry_hash(envelope.payload, envelope.signature, spki)
        return BundledEvent(
            seq,
            kind,
            run,
            leaf,
            signer,
            stamp if isinstance(stamp := chain.get("time"), str) else "",
            prev,
            links_of(chain),
            became if isinstance(became, str) and became in FAILURES else None,
            statement,
        )

    def _learn(self, kind: str, data: Any) -> None:
        """Keep the public keys that an event about keys names.

        Who may use them is judged with the event.
        """
        if kind not in KEY_TYPES:
            return
        listed = data["keys"] if kind == "ledger.opened" else [data.get("new", data)]
        for entry in listed:
            raw = decode_base64(str(entry.get("public")))
            try:
                public = PublicKey(raw or b"")
            except KeyRefused:
                continue  # the keyring names it
            self._publics.setdefault(public.keyid, public)

    def _belongs(self, one: BundledEvent) -> bool:
        if one.run is not None:
            self.run = self.run or one.run
            if one.kind == ASKED:
                self._asked.add(one.leaf.hex())
            return one.run == self.run
        try:
            if one.kind == GIVEN:
                about = one.statement["subject"]
                return any(item["digest"]["sha256"] in self._asked for item in about)
            if one.kind == ERASED:
                listed = one.statement["predicate"]["data"]["blobs"]
                return any(blob_tag(tag) in self.blobs.known for tag in listed)
        except MALFORMED:
            return False
        return one.kind in KEY_TYPES

    def _take(self, one: BundledEvent, envelope: Envelope) -> None:
        """Hand the event to the judgement of rows, once the run is known."""
        row = one.row(envelope)
        if one.kind in KEY_TYPES:
            self.key_rows.append(row)
        if self._record is None and not self.run:
            self._waiting.append(row)
            return
        if self._record is None:
            self._record = RunRecord(self.ledger, self.run, self._signatures)
            for waiting in self._waiting:
                self._record.add(waiting)
            self._waiting.clear()
        self._record.add(row)

    @contextmanager
    def shaped(self, one: BundledEvent, place: str) -> Generator[None]:
        """Report an event that is too odd to be compared to its end."""
        try:
            yield
        except MALFORMED:
            what = "it could not be compared to its end"
            self._add("edited", "event/shape", what, place, one.seq)

    def _compare(
        self, one: BundledEvent, before: BundledEvent | None, place: str
    ) -> None:
        self._compare_chain(one, before, place)
        predicate = one.statement["predicate"]
        self.elsewhere.take(one.kind, predicate["data"], predicate["muniment"])
        if one.run is not None and one.run == self.run:
            self._view.take(one.run, one.kind, predicate["muniment"], predicate["data"])
        self.compare_content(one, place)

    def compare_content(self, one: BundledEvent, place: str) -> None:
        """Compare data and blobs of an event, whichever run it is of."""
        predicate = one.statement["predicate"]
        chain, data = predicate["muniment"], predicate["data"]
        version = 1 if self.keyring is None else self.keyring.event_format
        if chain["version"] == 1 and one.kind in described(version):
            for rule, what in self._wrong_data(one.kind, data, one.statement):
                self._add("edited", rule, what, place, one.seq)
        self.named.take(one.run, one.kind, data)
        self.marks.take(one.run, one.kind, one.seq, data)
        self.blobs.refer(one.seq, data, one.statement["subject"])
        if one.kind == ERASED:
            self.blobs.erase(one.seq, data["blobs"])

    def _compare_chain(
        self, one: BundledEvent, before: BundledEvent | None, place: str
    ) -> None:
        if before is not None:
            self._compare_hash(one, before.seq, before.leaf, place)

    def _compare_hash(
        self, one: BundledEvent, seq: int, leaf: bytes, place: str
    ) -> None:
        """Require *one* to name the hash of the event *seq* if that is the one before."""
        if seq + 1 == one.seq and one.prev != leaf.hex():
            what = "prev is not the hash of the event before"
            self._add("edited", "event/prev", what, place, one.seq)

    def _wrong_data(
        self, kind: str, data: Any, statement: Any
    ) -> Iterator[tuple[str, str]]:
        if wrong := fault(kind, data):
            yield "event/data", wrong
        elif kind in PUBLIC:
            for what in misstated(kind, statement, self._plain_digest):
                yield "event/subject", what

    def _plain_digest(self, value: Any) -> str | None:
        """Return the digest of a public field; None if its content is not here."""
        if isinstance(value, str):
            return hashlib.sha256(value.encode()).hexdigest()
        name = blob_name(str(value["$blob"]))
        if name not in self._members.sizes:
            return None  # `BundleBlobs` says whether it may be gone
        digest, skip = hashlib.sha256(), SALT
        for piece in self._members.pieces(name):
            digest.update(piece[skip:])
            skip = max(skip - len(piece), 0)
        return digest.hexdigest()

    def _add(
        self, kind: str, rule: str, message: str, place: str, seq: int | None = None
    ) -> None:
        self._findings.add(kind, rule, message, seq=seq, place=place, remedy=_ASK)

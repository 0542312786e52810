"""A statement that the ledger signed about a run, as its event holds it.

    for one in attestations(ledger, "01JD3…"):
        one.require_true(ledger)
        one.envelope.to_json()      what other people's tools read

Rules:

- It is true if a key that could sign events then signed it, and the record of the run, as
  it was then, gives the same bytes again.
- It is about the run as it was after the event ``last``. Once the run went on, it is
  *outdated*: nothing is wrong with it, and it is not given out any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import canonical
from muniment.errors import MunimentError, RefusedError, WrongError
from muniment.formats.dsse import Envelope, decode_base64
from muniment.formats.statement import timestamp, when
from muniment_plugins.evidence.attestations.predicates import PREDICATE_KINDS
from muniment_plugins.evidence.attestations.record import AttestedRun
from muniment_plugins.evidence.vocabulary import ATTESTED

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["Attestation", "attestations"]


@dataclass(frozen=True, slots=True)
class Attestation:
    """A statement, the envelope around it, and the event that records both."""

    event: Event
    kind: str
    """``slsa``, ``svr``, ``test-result`` or ``vsa``."""
    statement: dict[str, Any]
    envelope: Envelope
    run: str
    last: int
    """The number of the last event of the run that it is about."""
    made: str
    """When, as its writer claims."""

    @classmethod
    def of(cls, event: Event) -> Attestation:
        """Read an ``attestation.issued``.

        Raises:
            WrongError: it holds no statement about a run, whoever wrote it.

        """
        data = cast("dict[str, Any]", event.raw)
        try:
            statement = data["statement"]
            own = statement["predicate"]["muniment"]
            uri, last, run, made = (
                statement["predicateType"],
                own["last"]["seq"],
                own["run"],
                own["made"],
            )
            kind = next(n for n, one in PREDICATE_KINDS.items() if one.uri == uri)
            signature = decode_base64(data["signature"])
            plain = timestamp(when(made)) == made and type(last) is int
        except (KeyError, TypeError, ValueError, StopIteration):
            raise _wrong(event, "holds no statement about a run", "statement") from None
        if signature is None or not plain:
            raise _wrong(event, "holds no statement about a run", "statement")
        envelope = Envelope(canonical(statement), str(data["keyid"]), signature)
        return cls(event, kind, statement, envelope, run, last, made)

    @property
    def result(self) -> str:
        """What it says, in a word or a few."""
        told = self.statement["predicate"]
        said = told.get("result") or told.get("verificationResult")
        return str(said or ", ".join(told.get("properties", ())))

    @property
    def coverage(self) -> str:
        """For how many events of the run it has a place."""
        return str(self.statement["predicate"]["muniment"]["coverage"])

    @property
    def subjects(self) -> list[tuple[str, str]]:
        """What it is about: names, and ``sha256:`` digests."""
        return [(one.name, one.digest) for one in self.event.subject]

    def require_true(self, ledger: Ledger) -> None:
        """Return if it is signed, and follows from the record.

        Raises:
            WrongError: it is not signed by a key that could, or says something else.

        """
        if not self._is_signed(ledger):
            what = "is not signed by a key that could sign events then"
            raise _wrong(self.event, what, "signature")
        record = AttestedRun.of(ledger, self.run, self.last)
        about = [
            {"digest": {"sha256": one.digest.removeprefix("sha256:")}, "name": one.name}
            for one in self.event.subject
        ]
        told = about == self.statement.get("subject") and self.event.run is None
        if not told or not self._follows(record):
            raise _wrong(self.event, "says something else than the record", "differs")

    def _is_signed(self, ledger: Ledger) -> bool:
        return any(
            self.envelope.verify(one.public)
            and ledger.keys.could_sign(self.event.seq, one.public.raw, ATTESTED)
            for one in ledger.keys.entries
        )

    def _follows(self, record: AttestedRun) -> bool:
        if record.last.seq != self.last:
            return False
        try:
            plans = PREDICATE_KINDS[self.kind].derive(record, self.made)
        except RefusedError:
            return False
        return self.envelope.payload in [one.payload(record.ledger.id) for one in plans]


def attestations(ledger: Ledger, run: str) -> Iterator[Attestation]:
    """Yield the statements about *run* in the order of the log; none is judged here."""
    for event in ledger.events(type=ATTESTED):
        try:
            found = Attestation.of(event)
        except MunimentError:
            continue  # it is about no run, so it says nothing of this one
        if found.run == run:
            yield found


def _wrong(event: Event, what: str, rule: str) -> WrongError:
    return WrongError(
        f"the statement {what}",
        rule=f"attestation/{rule}",
        seq=event.seq,
        place=f"event {event.seq}",
        remedy="`muniment verify` judges the whole ledger; ask who wrote this event",
    )

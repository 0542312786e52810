"""What runs asked people, and how the answers come in.

    pending = ledger.pending()[0]
    signed = pending.sign(approver, "approved", reason="the numbers are right")
    ledger.answer(signed)

Rules:

- Nothing is kept beside the log: each answer is judged by `Decisions`, as `verify` does,
  in the transaction that appends it.
- An answer belongs to no run: it comes from outside, whoever runs or owns the run then.
- A refusal is recorded, with its rule and the digest of what was offered: once, and only
  if that is a signed answer at all.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from operator import attrgetter
from typing import cast

from muniment.encoding.canonical import parse_canonical, sha256_tag
from muniment.errors import ErasedError, RefusedError, UsageError, WrongError
from muniment.format_versions import DECISIONS
from muniment.formats.decisions import (
    ASKED,
    GIVEN,
    REFUSED_ANSWER,
    Decision,
    DecisionAnswer,
    SignedAnswer,
)
from muniment.formats.dsse import Signer, entry_hash, pae, spki_base64
from muniment.formats.statement import BlobRef, Event, Subject
from muniment.keys.ed25519 import PublicKey
from muniment.programs.import_guard import refuse_importing
from muniment.recorded.descent import children_of
from muniment.runs.seams import Port
from muniment.storage.append import Store
from muniment.storage.blobs import content_value
from muniment.storage.lookup import events_in, events_of_run, head_of
from muniment.storage.sealing import Draft
from muniment.verification.runs.decisions import Ask, Decisions, DecisionStep

__all__ = ["Inbox", "PendingDecision"]


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """Something that a run asked and nobody has decided yet."""

    ledger: str
    run: str
    seq: int
    """The event that asks."""
    asked: str
    """Its leaf hash."""
    commitment: str
    """The commitment of the subject, which is signed."""
    subject: object
    """What is to be decided on; a `BlobRef` once it was erased."""
    prompt: str
    quorum: int
    of: tuple[str, ...]
    """The ids of the keys that may answer; empty for every approver."""
    answers: tuple[DecisionAnswer, ...]
    """The answers that count so far."""
    tenant: str
    time: str

    def sign(
        self, signer: Signer, outcome: str, *, reason: str = "", meaning: str = ""
    ) -> bytes:
        """Return an answer signed by *signer*, for `Ledger.answer` here or elsewhere.

        Args:
            signer: holds the private key of an approver.
            outcome: ``approved`` or ``denied``.
            reason: why; it is recorded, and can never be erased.
            meaning: what the signature means, such as what was read or tested.

        Raises:
            UsageError: the outcome is another one, or a text is too long.

        """
        return SignedAnswer.sign(
            signer,
            ledger=self.ledger,
            ask=self.asked,
            subject=self.commitment,
            outcome=outcome,
            reason=reason,
            meaning=meaning,
        ).to_json()


class Inbox:
    """Requests for decisions, and their answers, in one open ledger."""

    def __init__(self, port: Port, store: Store) -> None:
        self._port = weakref.ref(port)
        self._store = store

    @property
    def port(self) -> Port:
        """What validates events and asks plugins."""
        return cast("Port", self._port())

    def require_format(self) -> None:
        """Refuse decisions in a ledger whose verifiers would ignore them.

        Raises:
            RefusedError: the ledger's events have an earlier version.

        """
        version = self._store.event_format
        if version < DECISIONS:
            raise RefusedError(
                f"the events of this ledger have version {version}, which knows no "
                "decisions",
                rule="decision/format",
                place=self._store.place,
                remedy="go on in a successor: "
                "`muniment init DIR --continues LEDGER --reason R`",
            )

    def decision(self, asked: Event) -> Decision | None:
        """Return the decision on what the event *asked*; None if there is none yet."""
        ask = self._judged(str(asked.run)).asks.get(asked.hash)
        return None if ask is None else ask.decision

    def waits(self, run: str, awaited: Iterable[str]) -> bool:
        """Tell whether *run* still waits for one of the asks *awaited*.

        So it does if no ask of it, or of the runs that it called, was decided since.
        """
        runs = [run]
        for one in runs:  # it grows
            runs += (str(e.run) for e in children_of(self._store.database, one))
        asks = {k: v for one in runs for k, v in self._judged(one).asks.items()}
        open_ = {k: v for k, v in asks.items() if not (v.reached or v.over)}
        decided = any(ask.outcome is not None for ask in open_.values())
        return not decided and any(leaf in open_ for leaf in awaited)

    def pending(self) -> tuple[PendingDecision, ...]:
        """Return what is not decided yet, in the order in which it was asked."""
        if self._store.event_format < DECISIONS:
            return ()
        runs = dict.fromkeys(
            str(event.run) for event in events_in(self._store.database, types=(ASKED,))
        )
        found = [
            self._pending(ask)
            for run in runs
            for ask in self._judged(run).asks.values()
            if not ask.over and ask.outcome is None
        ]
        return tuple(sorted(found, key=attrgetter("seq")))

    def answer(self, signed: bytes) -> Event:
        """Append the answer *signed*, and return the event."""
        refuse_importing()
        signed = _bytes(signed).rstrip(b"\r\n")
        self.require_format()
        try:
            told = SignedAnswer.from_json(signed)
        except WrongError as error:
            raise _refused(error) from None
        port, data = self.port, {"envelope": parse_canonical(signed)}
        prepared = port.prepare(GIVEN, data, None)

        def late() -> list[Draft]:
            ask = self._ask(told)
            about = (Subject("asked", f"sha256:{told.ask}"),)
            return [Draft(prepared, port.actor, self._event(ask).tenant, None, about)]

        try:
            events = self._store.append([], late=late)
        except WrongError as error:
            if not error.rule.startswith("decision/"):
                raise
            self._record_refusal(error, told, signed)
            raise _refused(error) from None
        port.tell(events)
        self._store.checkpoint()
        return events[0]

    def _ask(self, told: SignedAnswer) -> Ask:
        """Return what *told* answers, if it may be the next event."""
        run = self._run_of(told.ask)
        judged = self._judged(run) if run else Decisions(self._store.ledger_id)
        size = head_of(self._store.database).size
        return judged.judge(told, self._store.keyring(), size)

    def _run_of(self, leaf: str) -> str | None:
        asks = events_in(self._store.database, types=(ASKED,))
        return next((one.run for one in asks if one.hash == leaf), None)

    def _judged(self, run: str) -> Decisions:
        """Return what *run* asked, with the answers that count."""
        judged, keyring = Decisions(self._store.ledger_id), self._store.keyring()
        own = [*events_of_run(self._store.database, run)]
        asked = [one.hash for one in own if one.type == ASKED]
        for event in merge(own, *map(self._given, asked), key=attrgetter("seq")):
            try:
                judged.add(DecisionStep.of_event(event), keyring)
            except WrongError:
                continue  # `verify` reports it; it does not count
        return judged

    def _given(self, leaf: str) -> Iterator[Event]:
        return events_in(self._store.database, subject=f"sha256:{leaf}", types=(GIVEN,))

    def _event(self, ask: Ask) -> Event:
        own = events_of_run(self._store.database, ask.run, ask.seq)
        return next(own)

    def _pending(self, ask: Ask) -> PendingDecision:
        event = self._event(ask)
        _require_own_hash(event)
        self._require_signature(event)
        prompt = self._content(event, "prompt")
        return PendingDecision(
            ledger=self._store.ledger_id,
            run=ask.run,
            seq=ask.seq,
            asked=ask.leaf,
            commitment=ask.subject,
            subject=self._content(event, "subject"),
            prompt=prompt if isinstance(prompt, str) else "",
            quorum=ask.quorum,
            of=ask.of,
            answers=tuple(ask.answers),
            tenant=event.tenant,
            time=event.time,
        )

    def _require_signature(self, event: Event) -> None:
        """Refuse to show what no enrolled writer signed."""
        may = self._store.keyring().could_sign(event.seq, event.key, event.type)
        if may and PublicKey(event.key).verify(event.signature, pae(event.payload)):
            return
        raise WrongError(
            "what is asked was not signed by a writer of this ledger",
            rule="event/signature",
            seq=event.seq,
            place=f"event {event.seq}",
            remedy="sign nothing from this copy; run `muniment verify`",
        )

    def _content(self, event: Event, name: str) -> object:
        ref = event.data.get(name)
        if not isinstance(ref, BlobRef):
            return ref
        try:
            content = self._store.read_blob(ref.digest, ref.size)
        except ErasedError:
            return ref
        return content_value(content, ref.media, self.port.values)

    def _record_refusal(
        self, error: WrongError, told: SignedAnswer, signed: bytes
    ) -> None:
        """Record that an answer was refused, unless that is recorded already."""
        tag, database = sha256_tag(signed), self._store.database
        known = events_in(database, subject=tag, types=(REFUSED_ANSWER,))
        if any(one.raw.get("rule") == error.rule for one in known):
            return
        asked = told.ask if self._run_of(told.ask) else None
        data = {"rule": error.rule, "envelope": tag, "asked": asked}
        draft = Draft(
            self.port.validate(REFUSED_ANSWER, data),
            self.port.actor,
            "default",
            None,
            (Subject("envelope", tag),),
        )
        self.port.tell(self._store.append([draft]))
        self._store.checkpoint()


def _require_own_hash(event: Event) -> None:
    """Refuse to show anything but what the leaf hash covers, which people sign."""
    public = PublicKey(event.key)
    leaf = entry_hash(event.payload, event.signature, spki_base64(public))
    if leaf.hex() != event.hash:
        raise WrongError(
            "the hash is not that of payload, signature and key",
            rule="event/leaf-hash",
            seq=event.seq,
            place=f"event {event.seq}",
            remedy="sign nothing from this copy; run `muniment verify`",
        )


def _bytes(signed: object) -> bytes:
    if isinstance(signed, bytes | bytearray | memoryview):
        return bytes(cast("bytes", signed))
    raise UsageError(
        f"an answer is bytes, and no {type(signed).__name__}",
        rule="decision/payload",
        remedy="give what `PendingDecision.sign` returns, or the bytes of its file",
    )


def _refused(error: WrongError) -> RefusedError:
    return RefusedError(
        error.message,
        rule=error.rule,
        place=error.place,
        remedy=error.remedy
        or "give an answer as `muniment approve -o FILE` writes it, unchanged",
    )

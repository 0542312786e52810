"""Drafts become signed rows: positions, contents, payloads, signatures, leaves.

Rules:

- Nothing here touches the database: a batch is complete in memory before the first row
  is inserted, and a draft that cannot be written refuses the whole batch.
- ``time`` is not dragged along: behind an event that is more than a day ahead of the
  clock only what cannot wait is written, which is what ends keys and what erases.
- Contents get their salt here, so that a failed append leaves no reference behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import cast

from muniment.blobs import Shared, Staged
from muniment.canonical import MAX_INTEGER, JsonValue, canonical, parse
from muniment.errors import AppendRefused, RefusedError, ValueRefused
from muniment.event_types import Prepared
from muniment.events import (
    MAX_NAME,
    MAX_PAYLOAD,
    Event,
    Place,
    Position,
    Subject,
    is_name,
    own_subject,
    statement,
    subjects_json,
    timestamp,
)
from muniment.signing import Signer, entry_hash, pae, spki_base64
from muniment.tree import Tail

__all__ = ["AHEAD", "Batch", "Draft", "build", "detached"]

_SUBJECT = 256
"""About what a subject takes in a payload, in bytes."""
_LATE = datetime.max.replace(tzinfo=UTC)

AHEAD = timedelta(days=1)
"""How far ahead of the clock here another writer's may be; more than any zone is."""
_IN_ANY_TIME = frozenset(
    {"blob.erased", "key.enrolled", "key.revoked", "key.rotated", "ledger.opened"}
)

EventColumns = tuple[int, str, str | None, bytes, bytes, bytes, bytes]


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that is valid and has no position yet."""

    prepared: Prepared
    actor: str = "local"
    tenant: str = "default"
    place: Place | None = None
    subjects: tuple[Subject, ...] = ()
    shared: Shared | None = None

    def __post_init__(self) -> None:
        """Refuse claims that no verifier would take for text."""
        if not (is_name(self.actor) and is_name(self.tenant)):
            raise RefusedError(
                f"actor and tenant are texts of at most {MAX_NAME} bytes",
                rule="event/claim",
                place=f"{self.prepared.type.name} {self.actor!r:.40} {self.tenant!r:.40}",
                remedy="give a short name; what is long belongs into the data",
            )


@dataclass(slots=True)
class Batch:
    """The rows of one append."""

    rows: list[EventColumns] = field(default_factory=list[EventColumns])
    subjects: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    tiles: list[tuple[int, int, bytes]] = field(
        default_factory=list[tuple[int, int, bytes]]
    )
    staged: Staged = field(default_factory=Staged)
    events: list[Event] = field(default_factory=list[Event])


def build(
    drafts: Sequence[Draft], tail: Tail, signer: Signer, ledger_id: str | None
) -> Batch:
    """Return the signed rows of *drafts*, growing *tail* by them.

    Raises:
        RefusedError: a payload exceeds 64 KiB; the message names the field.

    """
    batch = Batch()
    public, spki = signer.public.raw, spki_base64(signer.public)
    now = _time(drafts, tail)
    for draft in drafts:
        seq, kind, place = tail.size, draft.prepared.type, draft.place
        inline, subjects = _placed(draft, seq, batch.staged)
        prev = tail.hash.hex() if seq else None
        position = Position(
            seq, prev, ledger_id if seq else None, now, draft.actor, draft.tenant
        )
        payload = _payload(draft, inline, subjects, position)
        signature = signer.sign(pae(payload))
        leaf = entry_hash(payload, signature, spki)
        batch.tiles += tail.frontier.append(leaf)
        tail.size, tail.hash, tail.time = seq + 1, leaf, now
        run = None if place is None else place.run
        row = (seq, kind.name, run, payload, signature, public, leaf)
        batch.rows.append(row)
        if subjects:
            batch.subjects += _subject_rows(seq, subjects)
        batch.events.append(_event(row, draft, position, subjects, inline))
    return batch


def _time(drafts: Sequence[Draft], tail: Tail) -> str:
    """Return what time it is for *drafts*: never before the event that they follow.

    Raises:
        AppendRefused: that event is of a time far ahead of this clock.

    """
    now = datetime.now(UTC)
    kinds = {draft.prepared.type.name for draft in drafts}
    if tail.time > timestamp(now + AHEAD) and not kinds <= _IN_ANY_TIME:
        raise AppendRefused(
            f"the last event says {tail.time}, far ahead of the clock here; what "
            "follows would have to say the same",
            rule="event/time-ahead",
            place=f"event {tail.size - 1}",
            remedy="set the clock right; if the event is wrong, revoke its key and go on "
            "in a successor: `muniment init DIR --continues LEDGER --reason R`",
        )
    return max(timestamp(now), tail.time)


def detached(draft: Draft) -> Draft:
    """Return *draft* as one that may wait: what it was made of may change meanwhile.

    Raises:
        RefusedError: it could never be written; the message names the field.

    """
    content = _written(draft.prepared.inline)
    if len(content) + len(draft.subjects) * _SUBJECT > MAX_PAYLOAD // 2:
        inline, subjects = _placed(draft, 0, Staged())
        far = Position(MAX_INTEGER, "0" * 64, "sha256:" + "0" * 64, timestamp(_LATE))
        _payload(
            draft,
            inline,
            subjects,
            replace(far, actor=draft.actor, tenant=draft.tenant),
        )
    inline = cast("dict[str, JsonValue]", parse(content))
    return replace(draft, prepared=replace(draft.prepared, inline=inline))


def _written(inline: dict[str, JsonValue]) -> bytes:
    """Return the bytes of the data as they stand in a statement, two objects deep."""
    try:
        return canonical([[inline]])[2:-2]
    except ValueRefused as error:
        error.place = error.place.replace("$[0][0]", "data", 1)
        raise


def _payload(
    draft: Draft,
    inline: dict[str, JsonValue],
    subjects: tuple[Subject, ...],
    position: Position,
) -> bytes:
    kind = draft.prepared.type
    about = subjects_json(subjects) if subjects else None
    data = _written(inline)
    payload = statement(kind.name, kind.version, data, position, draft.place, about)
    if len(payload) > MAX_PAYLOAD:
        raise _too_large(draft.prepared, subjects)
    return payload


def _placed(
    draft: Draft, seq: int, staged: Staged
) -> tuple[dict[str, JsonValue], tuple[Subject, ...]]:
    """Return the data with references in the place of contents, and the subjects."""
    prepared = draft.prepared
    subjects = prepared.subjects + draft.subjects
    if not prepared.contents:
        return prepared.inline, subjects
    inline = dict(prepared.inline)
    for name, content in prepared.contents.items():
        ref = staged.add(content, seq, draft.shared)
        inline[name] = ref.to_json()
        subjects = (*subjects, Subject(name, ref.digest))
    return inline, subjects


def _event(
    row: tuple[int, str, str | None, bytes, bytes, bytes, bytes],
    draft: Draft,
    position: Position,
    subjects: tuple[Subject, ...],
    inline: dict[str, JsonValue],
) -> Event:
    """Return the event that *row* holds, without parsing what was just written."""
    seq, kind, run, payload, signature, key, leaf = row
    place = draft.place
    return Event(
        seq=seq,
        type=kind,
        version=draft.prepared.type.version,
        time=position.time,
        actor=draft.actor,
        tenant=draft.tenant,
        hash=leaf.hex(),
        run=run,
        scope=None if place is None else place.scope,
        ordinal=None if place is None else place.ordinal,
        prev=position.prev,
        ledger=position.ledger,
        subject=subjects or (own_subject(payload),),
        payload=payload,
        signature=signature,
        key=key,
        _data=inline,
    )


def _subject_rows(seq: int, subjects: tuple[Subject, ...]) -> set[tuple[int, bytes]]:
    return {
        (seq, bytes.fromhex(one.digest.removeprefix("sha256:"))) for one in subjects
    }


def _too_large(prepared: Prepared, subjects: tuple[Subject, ...]) -> RefusedError:
    sizes = {
        f"data.{name}": len(canonical(value)) for name, value in prepared.inline.items()
    }
    sizes["subject"] = len(subjects_json(subjects))
    largest = max(sizes, key=sizes.__getitem__)
    return RefusedError(
        f"the field takes {sizes[largest]} bytes; a payload has {MAX_PAYLOAD} at most",
        rule="event/size",
        place=f"{prepared.type.name} {largest}",
        remedy="put large content into a field that is kept as a blob",
    )

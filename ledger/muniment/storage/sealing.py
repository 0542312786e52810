"""Turning drafts into signed rows: positions, contents, payloads, signatures, leaves.

Rules:

- Nothing here touches the database: a batch is complete in memory before the first row
  is inserted, and a draft that cannot be written refuses the whole batch.
- One wrong clock does not carry all later times along: after an event that is more than
  a day ahead of the clock, only events that cannot wait are written: those that end
  keys and those that erase.
- An event of a series follows the last one in the log, or the last one of the batch.
- Contents get their salt here, so that a failed append leaves no reference behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

from muniment.encoding.canonical import MAX_INTEGER, JsonValue, canonical, parse
from muniment.errors import AppendRefused, RefusedError, ValueRefused
from muniment.events.types import Prepared
from muniment.formats.dsse import Signer, entry_hash, pae, signed_by, spki_base64
from muniment.formats.series import SeriesLink, series_digest, series_json
from muniment.formats.statement import (
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
from muniment.storage.blobs import Shared, Staged
from muniment.storage.tail import Tail

__all__ = ["AHEAD", "Batch", "Draft", "build", "detached"]

_SUBJECT = 256
"""About how many bytes a subject, or a place in a series, takes in a payload."""
_LATE = datetime.max.replace(tzinfo=UTC)

AHEAD = timedelta(days=1)
"""How far ahead of this clock another writer's may be; more than any time zone."""
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
        """Refuse claims that no verifier would accept as text."""
        if not (is_name(self.actor) and is_name(self.tenant)):
            raise RefusedError(
                f"actor and tenant are texts of at most {MAX_NAME} bytes",
                rule="event/claim",
                place=f"{self.prepared.type.name} {self.actor!r:.40} {self.tenant!r:.40}",
                remedy="give a short name; what is long belongs into the data",
            )

    def moved(self, prepared: Prepared, place: Place) -> Draft:
        """Return the same event with other data, at another *place*."""
        # For each fact of each run: `replace` takes four times as long.
        return Draft(
            prepared, self.actor, self.tenant, place, self.subjects, self.shared
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
    drafts: Sequence[Draft],
    tail: Tail,
    signer: Signer,
    ledger_id: str | None,
    known: Mapping[str, tuple[int, str]] | None = None,
) -> Batch:
    """Return the signed rows of *drafts*, growing *tail* by them.

    Args:
        drafts: the events to write.
        tail: the end of the log.
        signer: signs each of them.
        ledger_id: the ledger's id; None for its genesis.
        known: the key of a series → its count in the log, and its last leaf hash.

    Raises:
        RefusedError: a payload exceeds 64 KiB; the message names the field.
        AppendRefused: an event states another count of a series than there is.

    """
    batch, last = Batch(), dict(known or {})
    public, spki = signer.public.raw, spki_base64(signer.public)
    now = _time(drafts, tail)
    for draft in drafts:
        seq, kind, place = tail.size, draft.prepared.type, draft.place
        inline, subjects = _placed(draft, seq, batch.staged)
        prev = tail.hash.hex() if seq else None
        if draft.prepared.counts:
            _refuse_miscounted(draft.prepared, last)
        series = draft.prepared.series
        links = tuple(_link(key, last) for key in series) if series else ()
        position = Position(
            seq, prev, ledger_id if seq else None, now, draft.actor, draft.tenant, links
        )
        payload = _payload(draft, inline, subjects, position)
        signature = signed_by(signer, pae(payload))
        leaf = entry_hash(payload, signature, spki)
        batch.tiles += tail.frontier.append(leaf)
        tail.size, tail.hash, tail.time = seq + 1, leaf, now
        run = None if place is None else place.run
        row = (seq, kind.name, run, payload, signature, public, leaf)
        batch.rows.append(row)
        if subjects or links:
            batch.subjects += _subject_rows(seq, subjects, links)
            last |= {one.key: (one.count, leaf.hex()) for one in links}
        batch.events.append(_event(row, draft, position, subjects, inline))
    return batch


def _link(key: str, last: Mapping[str, tuple[int, str]]) -> SeriesLink:
    """Return the place of the next event in the series *key*."""
    count, prev = last.get(key, (0, None))
    return SeriesLink(key, count + 1, prev)


def _refuse_miscounted(prepared: Prepared, last: Mapping[str, tuple[int, str]]) -> None:
    """Refuse an event that says how many events a series has, and is wrong."""
    for key, stated in prepared.counts:
        count, _ = last.get(key, (0, ""))
        if count != stated:
            raise AppendRefused(
                f"it counts {stated} events of the series {key!r:.80}, which has {count}",
                rule="event/counts",
                place=prepared.type.name,
                remedy="count again: another writer may have come in between",
            )


def _time(drafts: Sequence[Draft], tail: Tail) -> str:
    """Return the time of *drafts*: never before the event that they follow.

    Raises:
        AppendRefused: that event's time is far ahead of this clock.

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


def detached(draft: Draft) -> Prepared:
    """Return the data of *draft*, a copy that may wait while its sources change.

    Raises:
        RefusedError: it could never be written; the message names the field.

    """
    prepared = draft.prepared
    content = _written(prepared.inline)
    beside = len(draft.subjects) + len(prepared.series)
    if len(content) + beside * _SUBJECT > MAX_PAYLOAD // 2:
        inline, subjects = _placed(draft, 0, Staged())
        leaf = "0" * 64
        far = Position(
            MAX_INTEGER,
            leaf,
            "sha256:" + leaf,
            timestamp(_LATE),
            draft.actor,
            draft.tenant,
            tuple(SeriesLink(key, MAX_INTEGER, leaf) for key in prepared.series),
        )
        _payload(draft, inline, subjects, far)
    return Prepared(
        prepared.type,
        cast("dict[str, JsonValue]", parse(content)),
        prepared.contents,
        prepared.subjects,
        prepared.series,
        prepared.counts,
        content,
        draft.subjects,
        prepared.joined,
    )


def _written(inline: dict[str, JsonValue]) -> bytes:
    """Return the bytes of the data as in a statement, two objects deep."""
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
    known = b"" if draft.prepared.contents else draft.prepared.written
    data = known or _written(inline)
    payload = statement(kind.name, kind.version, data, position, draft.place, about)
    if len(payload) > MAX_PAYLOAD:
        raise _too_large(draft.prepared, subjects, position.series)
    return payload


def _placed(
    draft: Draft, seq: int, staged: Staged
) -> tuple[dict[str, JsonValue], tuple[Subject, ...]]:
    """Return the data with references in place of contents, and the subjects."""
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
    """Return the event of *row* without parsing the bytes just written."""
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
        series=position.series,
        payload=payload,
        signature=signature,
        key=key,
        _data=inline,
    )


def _subject_rows(
    seq: int, subjects: tuple[Subject, ...], series: tuple[SeriesLink, ...]
) -> set[tuple[int, bytes]]:
    about = {bytes.fromhex(one.digest.removeprefix("sha256:")) for one in subjects}
    return {(seq, one) for one in about.union(series_digest(s.key) for s in series)}


def _too_large(
    prepared: Prepared, subjects: tuple[Subject, ...], series: tuple[SeriesLink, ...]
) -> RefusedError:
    sizes = {
        f"data.{name}": len(canonical(value)) for name, value in prepared.inline.items()
    }
    sizes["subject"] = len(subjects_json(subjects))
    sizes["series"] = len(series_json(series))
    largest = max(sizes, key=sizes.__getitem__)
    return RefusedError(
        f"the field takes {sizes[largest]} bytes; a payload has {MAX_PAYLOAD} at most",
        rule="event/size",
        place=f"{prepared.type.name} {largest}",
        remedy="put large content into a field that is kept as a blob",
    )

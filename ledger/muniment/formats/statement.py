"""The event: an in-toto Statement with the chain's own fields beside its data.

    {"_type":"https://in-toto.io/Statement/v1",
     "predicate":{"data":{"text":"reviewed"},
                  "muniment":{"actor":"local","ledger":"sha256:…","prev":"<64 hex>",
                              "seq":7,"tenant":"default",
                              "time":"2026-11-20T07:23:41.096123Z",
                              "type":"note.added","version":1}},
     "predicateType":"urn:muniment:event:note.added:v1",
     "subject":[{"digest":{"sha256":"<64 hex>"},"name":"data.json"}]}

Rules:

- The payload is RFC 8785 bytes, stored and signed as they are; it is never written
  again from its parts.
- ``predicate.muniment`` is the only place that says type, version and position.
- An event outside a run omits ``run``, ``scope`` and ``ordinal``; the genesis omits
  ``prev`` and ``ledger``, since its own hash becomes the ledger's id.
- ``series`` is there if the event belongs to any: `muniment.formats.series`.
- ``time`` and ``actor`` are claims of the writer.
- An event about nothing else is about its own data: one subject ``data.json``.
- Content that may be personal is kept outside, behind a salted commitment
  (``{"$blob":"sha256:…","size":n}``), always as a direct member of ``data``.

Specification: ``docs/spec/event.md``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias, cast

import orjson

from muniment.encoding.canonical import JsonValue, canonical
from muniment.encoding.codec import decode
from muniment.errors import RefusedError, UsageError, WrongError
from muniment.formats.series import SeriesLink, read_series, series_json

__all__ = [
    "MAX_NAME",
    "MAX_PAYLOAD",
    "PREDICATES",
    "PREDICATE_PREFIX",
    "BlobRef",
    "Data",
    "Event",
    "Place",
    "Position",
    "Subject",
    "SubjectLike",
    "about",
    "is_name",
    "own_subject",
    "predicate_statement",
    "read_event",
    "statement",
    "timestamp",
    "when",
]

MAX_PAYLOAD = 64 * 1024
"""The largest payload, in bytes."""

MAX_NAME = 256
"""The longest actor, tenant or name of a scope, in bytes of UTF-8."""

PREDICATE_PREFIX = "urn:muniment:event:"

PREDICATES = frozenset(
    {
        "https://in-toto.io/attestation/svr/v0.2",
        "https://in-toto.io/attestation/test-result/v0.1",
        "https://slsa.dev/provenance/v1",
        "https://slsa.dev/verification_summary/v1",
    }
)
"""The predicates of others in which a ledger signs statements that are no events."""

_SHOWN = 400
_OWN = "data.json"
_OWN_END = b'"},"name":"data.json"}]}'
_TAG = re.compile(r"sha256:[0-9a-f]{64}")

Data: TypeAlias = "Mapping[str, object]"
"""The data of an event as programs see it: decoded values and `BlobRef`s."""


@dataclass(frozen=True, slots=True)
class BlobRef:
    """A reference to content behind a salted commitment."""

    digest: str
    """``sha256:<hex>`` over salt and content: commitment, address and name in one."""
    size: int
    """The content's length in bytes, without the salt."""
    media: str = "application/json"
    """The media type of the content; JSON is canonical and encoded by `values`."""

    def to_json(self) -> dict[str, JsonValue]:
        """Return the reference as it is written in an event's data."""
        reference: dict[str, JsonValue] = {"$blob": self.digest, "size": self.size}
        if self.media != "application/json":
            reference["media"] = self.media
        return reference

    @classmethod
    def from_json(cls, value: Mapping[str, JsonValue]) -> BlobRef:
        """Read back what `to_json` wrote."""
        media = cast("str", value.get("media", "application/json"))
        return cls(cast("str", value["$blob"]), cast("int", value["size"]), media)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an event is about: a name and ``sha256:<hex>``."""

    name: str
    digest: str


SubjectLike: TypeAlias = "Subject | tuple[str, str]"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a run an event is: the run's id, the scope, the ordinal in it."""

    run: str
    scope: str = ""
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Position:
    """Where in the log an event is, and what the writer claims about it."""

    seq: int
    prev: str | None
    ledger: str | None
    time: str
    actor: str = "local"
    tenant: str = "default"
    series: tuple[SeriesLink, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Event:
    """One recorded fact, as read back from its signed bytes."""

    seq: int
    type: str
    version: int
    time: str
    actor: str
    tenant: str
    hash: str
    """The RFC 6962 leaf hash, 64 hex digits; the next event's ``prev``."""
    run: str | None = None
    scope: str | None = None
    ordinal: int | None = None
    prev: str | None = None
    ledger: str | None = None
    subject: tuple[Subject, ...] = ()
    series: tuple[SeriesLink, ...] = ()
    """Its number in each series that it belongs to."""
    payload: bytes = b""
    signature: bytes = b""
    key: bytes = b""
    """The signer's raw public key: 32 bytes of Ed25519, 65 of P-256."""
    _data: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    fault: str = ""
    """What is odd about the row, if it was repaired to be readable (`muniment.events.readable`)."""

    def __repr__(self) -> str:
        """Name the event, its place and its data, for interactive sessions."""
        where = "" if self.run is None else f" in run {self.run}"
        said = repr(self._data)
        short = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
        return f"<Event {self.seq} {self.type}{where}: {short}>"

    @property
    def data(self) -> dict[str, object]:
        """The data, decoded; blobs are `BlobRef`s.

        What is no value, as `fault` says then, stays in the form that was signed.
        """
        odd = bool(self.fault)
        return {name: _decoded(one, odd=odd) for name, one in self._data.items()}

    @property
    def raw(self) -> dict[str, JsonValue]:
        """The data exactly as in the signed JSON, except for an event with a fault."""
        return self._data

    @property
    def when(self) -> datetime:
        """The claimed time, aware, in UTC."""
        return when(self.time)


def _decoded(value: JsonValue, *, odd: bool) -> object:
    if type(value) is dict and "$blob" in value:
        return BlobRef.from_json(value)
    try:
        return decode(value)
    except WrongError:
        if odd:
            return value
        raise


def statement(
    kind: str,
    version: int,
    data: bytes,
    position: Position,
    place: Place | None = None,
    subject: bytes | None = None,
) -> bytes:
    """Return the canonical payload of an event.

    *data* and *subject* are canonical JSON already; member names are ASCII and written
    in RFC 8785 order, so the whole is canonical without being sorted again.
    """
    if subject is None:
        digest = hashlib.sha256(data).hexdigest().encode()
        subject = b'[{"digest":{"sha256":"%s"},"name":"data.json"}]' % digest
    head = (
        b"" if position.ledger is None else b'"ledger":"%s",' % position.ledger.encode()
    )
    if place is not None:
        head += b'"ordinal":%d,' % place.ordinal
    if position.prev is not None:
        head += b'"prev":"%s",' % position.prev.encode()
    if place is not None:
        head += b'"run":"%s","scope":%s,' % (
            place.run.encode(),
            orjson.dumps(place.scope),
        )
    series = position.series and b'"series":%s,' % series_json(position.series)
    return (
        b'{"_type":"https://in-toto.io/Statement/v1","predicate":{"data":%s,'
        b'"muniment":{"actor":%s,%s"seq":%d,%s"tenant":%s,"time":"%s","type":"%s",'
        b'"version":%d}},"predicateType":"urn:muniment:event:%s:v%d","subject":%s}'
    ) % (
        data,
        orjson.dumps(position.actor),
        head,
        position.seq,
        series or b"",
        orjson.dumps(position.tenant),
        position.time.encode(),
        kind.encode(),
        version,
        kind.encode(),
        version,
        subject,
    )


def predicate_statement(
    predicate_type: str, predicate: JsonValue, subjects: tuple[Subject, ...]
) -> bytes:
    """Return the canonical payload of a statement that is no event.

    Raises:
        UsageError: the predicate is none of `PREDICATES`, or it is about nothing.

    """
    if predicate_type not in PREDICATES or not subjects:
        raise UsageError(
            "a ledger signs statements about something, in the predicates that it knows",
            rule="attestation/statement",
            place=predicate_type[:200],
            remedy=f"name a subject, and one of {', '.join(sorted(PREDICATES))}",
        )
    return (
        b'{"_type":"https://in-toto.io/Statement/v1","predicate":%s,'
        b'"predicateType":%s,"subject":%s}'
    ) % (canonical(predicate), canonical(predicate_type), subjects_json(subjects))


def is_name(text: object) -> bool:
    """Tell whether *text* is a text of at most `MAX_NAME` bytes of UTF-8."""
    if not isinstance(text, str):
        return False
    if text.isascii():
        return len(text) <= MAX_NAME
    try:
        return len(text.encode()) <= MAX_NAME
    except UnicodeEncodeError:  # a lone surrogate
        return False


def own_subject(payload: bytes) -> Subject:
    """Return the subject that `statement` gave a payload that is about nothing else."""
    end = len(payload) - len(_OWN_END)
    return Subject(_OWN, "sha256:" + payload[end - 64 : end].decode())


def about(given: Iterable[SubjectLike]) -> tuple[Subject, ...]:
    """Return the subjects that a caller gives for an event, checked.

    Raises:
        RefusedError: one is not a name and ``sha256:<64 lower-case hex digits>``.

    """
    return tuple(map(_about, given))


def _about(given: SubjectLike) -> Subject:
    match given:
        case Subject(str() as name, str() as digest) | (str() as name, str() as digest):
            if _TAG.fullmatch(digest) and name != _OWN:
                return Subject(name, digest)
        case _:
            pass
    raise RefusedError(
        "an event is about a name and sha256:<64 hex digits>, not this",
        rule="event/subject",
        place=repr(given)[:200],
        remedy=f"give both; {_OWN} is kept for the event's own data",
    )


def subjects_json(subjects: tuple[Subject, ...]) -> bytes:
    """Return the canonical ``subject`` member for *subjects*."""
    listed: list[JsonValue] = [
        {"digest": {"sha256": one.digest.removeprefix("sha256:")}, "name": one.name}
        for one in subjects
    ]
    return canonical(listed)


def read_event(payload: bytes, signature: bytes, key: bytes, leaf: bytes) -> Event:
    """Return the event that the stored bytes hold.

    Raises:
        WrongError: the payload is not a muniment statement (``verify`` says more).

    """
    if not _are_blobs(payload, signature, key, leaf):
        raise _no_statement("a column is not a blob")
    try:
        parsed = orjson.loads(payload)
        chain = parsed["predicate"]["muniment"]
        return Event(
            seq=chain["seq"],
            type=chain["type"],
            version=chain["version"],
            time=chain["time"],
            actor=chain["actor"],
            tenant=chain["tenant"],
            hash=leaf.hex(),
            run=chain.get("run"),
            scope=chain.get("scope"),
            ordinal=chain.get("ordinal"),
            prev=chain.get("prev"),
            ledger=chain.get("ledger"),
            subject=tuple(
                Subject(one["name"], "sha256:" + one["digest"]["sha256"])
                for one in parsed["subject"]
            ),
            series=read_series(chain["series"]) if "series" in chain else (),
            payload=payload,
            signature=signature,
            key=key,
            _data=parsed["predicate"]["data"],
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise _no_statement(error) from None


def _are_blobs(*columns: object) -> bool:
    """Tell whether *columns* are bytes: SQLite lets any row hold any type of value."""
    return all([type(column) is bytes for column in columns])  # noqa: C419 - faster


def _no_statement(why: object) -> WrongError:
    return WrongError(
        f"a row does not hold a muniment statement ({why})",
        rule="event/statement",
        remedy="run `muniment verify`",
    )


def timestamp(moment: datetime) -> str:
    """Return *moment* as RFC 3339 in UTC with six decimals."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def when(text: str) -> datetime:
    """Read back what `timestamp` wrote."""
    return datetime.fromisoformat(text)

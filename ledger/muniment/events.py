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
- ``time`` and ``actor`` are claims of the writer.
- An event about nothing else is about its own data: one subject ``data.json``.
- Content that may be personal stands outside, behind a salted commitment
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

from muniment.canonical import JsonValue, canonical
from muniment.errors import RefusedError, WrongError
from muniment.values import decode

__all__ = [
    "MAX_NAME",
    "MAX_PAYLOAD",
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
    "read_event",
    "statement",
    "timestamp",
    "when",
]

MAX_PAYLOAD = 64 * 1024
"""The size in bytes that no payload may exceed."""

MAX_NAME = 256
"""How long actor, tenant and the name of a scope may be, in bytes of UTF-8."""

PREDICATE_PREFIX = "urn:muniment:event:"

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
    """What the content is; JSON contents are canonical and encoded by `values`."""

    def to_json(self) -> dict[str, JsonValue]:
        """Return the reference as it stands in an event's data."""
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
    """Where in a run an event stands: the run's id, the scope, the ordinal in it."""

    run: str
    scope: str = ""
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Position:
    """Where in the log an event stands, and what the writer claims about it."""

    seq: int
    prev: str | None
    ledger: str | None
    time: str
    actor: str = "local"
    tenant: str = "default"


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
    payload: bytes = b""
    signature: bytes = b""
    key: bytes = b""
    """The signer's raw Ed25519 public key, 32 bytes."""
    _data: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    fault: str = ""
    """What is odd about the row, where it was mended to be read (`muniment.readable`)."""

    def __repr__(self) -> str:
        """Say what an interactive session asks: which, where, and what it says."""
        where = "" if self.run is None else f" in run {self.run}"
        said = repr(self._data)
        short = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
        return f"<Event {self.seq} {self.type}{where}: {short}>"

    @property
    def data(self) -> dict[str, object]:
        """The data, decoded; contents that stand outside are `BlobRef`s."""
        return {name: _decoded(value) for name, value in self._data.items()}

    @property
    def raw(self) -> dict[str, JsonValue]:
        """The data exactly as the signed JSON says, but for an event with a fault."""
        return self._data

    @property
    def when(self) -> datetime:
        """The claimed time, aware, in UTC."""
        return when(self.time)


def _decoded(value: JsonValue) -> object:
    if type(value) is dict and "$blob" in value:
        return BlobRef.from_json(value)
    return decode(value)


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
    return (
        b'{"_type":"https://in-toto.io/Statement/v1","predicate":{"data":%s,'
        b'"muniment":{"actor":%s,%s"seq":%d,"tenant":%s,"time":"%s","type":"%s",'
        b'"version":%d}},"predicateType":"urn:muniment:event:%s:v%d","subject":%s}'
    ) % (
        data,
        orjson.dumps(position.actor),
        head,
        position.seq,
        orjson.dumps(position.tenant),
        position.time.encode(),
        kind.encode(),
        version,
        kind.encode(),
        version,
        subject,
    )


def is_name(text: object) -> bool:
    """Tell whether *text* is one, has a UTF-8 form, and is at most `MAX_NAME` long."""
    if not isinstance(text, str):
        return False
    if text.isascii():
        return len(text) <= MAX_NAME
    try:
        return len(text.encode()) <= MAX_NAME
    except UnicodeEncodeError:  # a lone surrogate
        return False


def own_subject(payload: bytes) -> Subject:
    """Return the subject that `statement` gave a payload which is about nothing else."""
    end = len(payload) - len(_OWN_END)
    return Subject(_OWN, "sha256:" + payload[end - 64 : end].decode())


def about(given: Iterable[SubjectLike]) -> tuple[Subject, ...]:
    """Return what a caller says that an event is about, checked.

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
    """Return the event that stored bytes say.

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
            payload=payload,
            signature=signature,
            key=key,
            _data=parsed["predicate"]["data"],
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise _no_statement(error) from None


def _are_blobs(*columns: object) -> bool:
    """Tell whether *columns* are: SQLite lets any row hold any type of value."""
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

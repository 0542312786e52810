"""Explaining what is wrong with a row of the log, rule by rule.

    seq 12 → event/prev    predicate.muniment.prev is not the hash of the event before
             event/column  the column says type 'note.added'

Rules:

- Only rows that are not sound (`muniment.verification.statements.respell`) come here:
  this module names every broken rule and its place, and need not be fast.
- The file is never trusted to have a shape: each step checks first.
- Time is RFC 3339 in UTC with six decimals, and a real moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, cast

from muniment.encoding.canonical import canonical, parse, parse_canonical
from muniment.errors import ValueRefused, WrongError
from muniment.format_versions import FORMATS, SERIES
from muniment.formats.series import SeriesLink, read_series
from muniment.keys.p256 import SIGNATURE_SIZES
from muniment.verification.report import Findings
from muniment.verification.snapshot import MAX_PAYLOAD
from muniment.verification.statements.rows import TOO_LARGE, Row

__all__ = [
    "MAX_INTEGER",
    "Expected",
    "Salvage",
    "explain",
    "explain_columns",
    "is_run_id",
    "is_time",
    "is_type_name",
]

_TYPE = "https://in-toto.io/Statement/v1"

MAX_INTEGER = 2**53 - 1
"""RFC 8785 has no larger integer."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+")
_RUN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ASK = "compare with a copy or an anchor; trust nothing from here on"

_ALWAYS = frozenset({"actor", "seq", "tenant", "time", "type", "version"})
_CHAIN = frozenset({"ledger", "prev"})
_PLACE = frozenset({"ordinal", "run", "scope"})
_PREDICATE = frozenset({"data", "muniment"})
_TOP = frozenset({"_type", "predicate", "predicateType", "subject"})

_Object = dict[str, Any]

_UNREADABLE: Final = object()
"""Unlike any JSON value, ``null`` included: nothing could be read."""


@dataclass(slots=True)
class Expected:
    """What a row must contain at its place in the log."""

    seq: int = 0
    ledger: str | None = None
    """``None`` for the genesis only."""
    prev: str | None = None
    """The leaf hash of the row before; ``None`` for the genesis, or if unknown."""
    time: str = ""
    claim: Callable[[int], object] | None = None
    """Returns the seq that the row at a seq claims."""
    version: int = FORMATS["event"]
    """The version of the events, as the genesis states it."""


@dataclass(frozen=True, slots=True)
class Salvage:
    """The readable parts of an unsound statement: those that have their shape."""

    data: _Object | None
    subject: list[Any] | None
    run: str | None
    scope: str
    series: tuple[SeriesLink, ...] | None

    @classmethod
    def of(cls, statement: Any) -> Salvage:
        """Take the parts that are readable."""
        top = _object(statement)
        predicate = _object(top.get("predicate"))
        chain = _object(predicate.get("muniment"))
        data, run, scope = predicate.get("data"), chain.get("run"), chain.get("scope")
        return cls(
            cast("_Object", data) if type(data) is dict else None,
            _listed(top.get("subject")),
            run if type(run) is str else None,
            scope if type(scope) is str else "",
            _linked(chain) if chain else None,
        )


def _linked(chain: _Object) -> tuple[SeriesLink, ...] | None:
    """Return the series that a statement states; None if that cannot be read."""
    try:
        return read_series(chain["series"]) if "series" in chain else ()
    except TypeError:
        return None


def _listed(subject: Any) -> list[Any] | None:
    """Return *subject* if each item has a name and a digest, which may be wrong."""
    if type(subject) is not list:
        return None
    items: list[Any] = [*subject]
    for one in items:
        value = _object(_object(one).get("digest")).get("sha256")
        if type(value) is not str or "name" not in one:
            return None
    return items


def is_time(text: str) -> bool:
    """Tell whether *text* is a real moment, RFC 3339 in UTC with six decimals."""
    if _TIME.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_type_name(text: str) -> bool:
    """Tell whether *text* can name an event type."""
    return _NAME.fullmatch(text) is not None


def is_run_id(text: str) -> bool:
    """Tell whether *text* can name a run."""
    return _RUN.fullmatch(text) is not None


def explain(row: Row, expected: Expected, findings: Findings) -> Any:
    """Add a finding for each rule that *row* breaks; return the statement, if any.

    Hash and signature are judged elsewhere: they need the tree and the keys.
    """
    seq, kind, run, payload = row[:4]
    say = _Sayer(findings, seq)
    explain_columns(row, findings)
    if payload is TOO_LARGE:
        say("event/size", f"the payload has far more than {MAX_PAYLOAD} bytes")
    if not isinstance(payload, bytes):
        return None
    if len(payload) > MAX_PAYLOAD:
        say("event/size", f"the payload has {len(payload)} bytes, over {MAX_PAYLOAD}")
        return None
    statement = _explain_bytes(payload, say)
    if statement is _UNREADABLE:
        return None
    chain = _explain_shape(statement, expected, say)
    if chain is not None:
        _explain_place(chain, expected, say)
        _explain_subject(statement, say)
        if chain.get("type") != kind:
            say("event/column", f"the column says type {kind!r}", place="type")
        if chain.get("run") != run:
            say("event/column", f"the column says run {run!r}", place="run")
    return statement


class _Sayer:
    __slots__ = ("_findings", "_seq")

    def __init__(self, findings: Findings, seq: int) -> None:
        self._findings = findings
        self._seq = seq

    def __call__(
        self, rule: str, message: str, *, place: str = "", kind: str = "edited"
    ) -> None:
        where = f"event {self._seq}" + (f" {place}" if place else "")
        self._findings.add(kind, rule, message, seq=self._seq, place=where, remedy=_ASK)


def explain_columns(row: Row, findings: Findings) -> None:
    """Add a finding for each column of *row* that has another type or size."""
    seq, kind, run, payload, signature, key, leaf = row
    say = _Sayer(findings, seq)
    if not isinstance(kind, str):
        say("event/column", "type is not text", place="type")
    if run is not None and not isinstance(run, str):
        say("event/column", "run is not text", place="run")
    if not isinstance(payload, bytes) and payload is not TOO_LARGE:
        say("event/column", "payload is not a blob", place="payload")
    for name, value, sizes in (
        ("signature", signature, _signature_sizes(key)),
        ("key", key, tuple(SIGNATURE_SIZES)),
        ("hash", leaf, (32,)),
    ):
        if not isinstance(value, bytes) or len(value) not in sizes:
            listed = f"{sizes[0]}"
            if len(sizes) > 1:
                listed += f" {'or' if len(sizes) == 2 else 'to'} {sizes[-1]}"  # noqa: PLR2004 - two
            say("event/column", f"{name} is not a blob of {listed} bytes", place=name)


def _signature_sizes(key: object) -> tuple[int, ...]:
    size = len(key) if isinstance(key, bytes) else 0
    least, most = SIGNATURE_SIZES.get(size, (64, 64))
    return tuple(range(least, most + 1))


def _explain_bytes(payload: bytes, say: _Sayer) -> Any:
    try:
        return parse_canonical(payload)
    except WrongError as error:
        say("event/canonical", error.message, place="payload")
    try:
        return parse(payload)
    except WrongError:
        return _UNREADABLE


def _explain_shape(statement: Any, expected: Expected, say: _Sayer) -> Any:
    if type(statement) is not dict:
        say("event/shape", "the payload is not an object", place="payload")
        return None
    top = cast("_Object", statement)
    _members(top, _TOP, "", say)
    if top.get("_type") != _TYPE:
        say("event/shape", "not an in-toto Statement v1", place="_type")
    predicate = _object(top.get("predicate"))
    _members(predicate, _PREDICATE, "predicate.", say)
    if type(predicate.get("data")) is not dict:
        say("event/shape", "data is not an object", place="predicate.data")
    chain = _object(predicate.get("muniment"))
    wanted = _ALWAYS if expected.ledger is None else _ALWAYS | _CHAIN
    if chain.keys() & _PLACE:
        wanted |= _PLACE
    if expected.version >= SERIES and expected.ledger is not None:
        wanted |= chain.keys() & {"series"}
    _members(chain, wanted, "predicate.muniment.", say)
    name = f"urn:muniment:event:{chain.get('type')}:v{chain.get('version')}"
    if top.get("predicateType") != name:
        say("event/predicate-type", f"not {name}", place="predicateType")
    _explain_types(chain, say)
    return chain


def _object(value: Any) -> _Object:
    """Return *value* if it is an object, else an object without members."""
    return cast("_Object", value) if type(value) is dict else {}


def _members(value: _Object, wanted: frozenset[str], at: str, say: _Sayer) -> None:
    for name in sorted(wanted - value.keys()):
        say("event/shape", "the member is missing", place=f"{at}{name}")
    for name in sorted(value.keys() - wanted):
        say("event/shape", "an unknown member", place=f"{at}{name}")


def _explain_types(chain: Any, say: _Sayer) -> None:
    def bad(name: str, what: str) -> None:
        say("event/shape", f"not {what}", place=f"predicate.muniment.{name}")

    for name in ("actor", "scope", "tenant"):
        if name in chain and not isinstance(chain[name], str):
            bad(name, "text")
    for name, least in (("ordinal", 0), ("seq", 0), ("version", 1)):
        value = chain.get(name, least)
        if type(value) is not int or not least <= value <= MAX_INTEGER:
            bad(name, f"an integer from {least}")
    if _linked(chain) is None:
        bad("series", "of keys and places in series")
    for name, form, what in (
        ("type", _NAME, "the name of an event type"),
        ("run", _RUN, "the id of a run"),
        ("prev", _DIGEST, "64 hexadecimal digits"),
    ):
        value = chain.get(name)
        if name in chain and not (isinstance(value, str) and form.fullmatch(value)):
            bad(name, what)


def _explain_place(chain: Any, expected: Expected, say: _Sayer) -> None:
    seq, at = chain.get("seq"), "predicate.muniment."
    if seq != expected.seq or isinstance(seq, bool):
        later = isinstance(seq, int) and seq > expected.seq
        claim = expected.claim if isinstance(seq, int) else None
        swapped = claim is not None and claim(seq) == expected.seq
        kind = "reordered" if swapped else "missing" if later else "inserted"
        say("event/seq", f"the row says it is event {seq}", place=at + "seq", kind=kind)
    if expected.ledger is not None and chain.get("ledger") != expected.ledger:
        what = f"the row is of the ledger {chain.get('ledger')}"
        say("event/ledger", what, place=at + "ledger", kind="foreign")
    if expected.prev is not None and chain.get("prev") != expected.prev:
        what = "prev is not the hash of the event before"
        say("event/prev", what, place=at + "prev")
    time = chain.get("time")
    if not isinstance(time, str) or not is_time(time):
        say("event/time", "not RFC 3339 in UTC with six decimals", place=at + "time")
    elif time < expected.time:
        say("event/time", "earlier than the event before", place=at + "time")


def _explain_subject(statement: Any, say: _Sayer) -> None:
    subject: Any = statement.get("subject")
    if type(subject) is not list or not subject:
        say("event/subject", "not a list of subjects", place="subject")
        return
    try:
        own = sha256(canonical(statement["predicate"]["data"])).hexdigest()
    except (KeyError, TypeError, ValueRefused):
        return
    items: Any = statement["subject"]
    for number, item in enumerate(items):
        where = f"subject[{number}]"
        one = _object(item)
        digest = _object(one.get("digest"))
        value, name = digest.get("sha256"), one.get("name")
        shaped = one.keys() == {"digest", "name"} and digest.keys() == {"sha256"}
        hashed = isinstance(value, str) and _DIGEST.fullmatch(value)
        if not (shaped and hashed and isinstance(name, str)):
            say("event/subject", "not a name and a SHA-256", place=where)
        elif name == "data.json" and value != own:
            say("event/subject", "not the digest of the event's data", place=where)

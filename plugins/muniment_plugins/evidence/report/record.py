"""The one way from the record to a page: a citation becomes a quote.

    record.quote({"event": 45, "path": "/result/pairs"})       the number 6
    record.quote({"event": 45, "head": "/time"})               when, as its writer claims
    record.quote({"rule": "mean", "type": "metrics.measured", "path": "/metrics/total"})

Rules:

- A *path* is an RFC 6901 pointer into the data of an event, each blob in the place of its
  reference; a *head* is one into what an event says beside its data.
- What follows from several events names a rule and which events it is about; everybody
  who has the ledger counts again.
- Nothing after the checkpoint of the page is read, except erasures.
- What was erased is a quote, too: it says so. So does what follows from it: a sum of
  what is left would be another number.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, TypeAlias, cast
from urllib.parse import quote as url_quote
from urllib.parse import unquote

from muniment.encoding.canonical import parse
from muniment.errors import ErasedError, UsageError
from muniment.formats.evidence import NOTHING
from muniment.formats.statement import BlobRef
from muniment.keys.ed25519 import PublicKey
from muniment_plugins.evidence.bundle_reader import (
    BundleReader,
    NotInBundle,
    WithheldFromBundle,
)
from muniment_plugins.evidence.report.wording import ABSENT, ERASED, WITHHELD, shown

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment.verification.report import Report

__all__ = [
    "Citation",
    "Quote",
    "RunReader",
    "Source",
    "as_ascii",
    "as_written",
    "plain",
    "pointer",
    "total",
]

Source: TypeAlias = "Ledger | BundleReader"
"""What is read: both answer events, contents, series and tree heads alike."""
Citation: TypeAlias = "Mapping[str, JsonValue]"
"""``event`` with ``path`` or ``head``, or ``rule`` with what it is about; and ``as``."""

_LONGEST = 200
"""How many characters of JSON a page repeats as they are; else their digest is there."""
_DIGITS = 300
"""An integer with more of them is not counted with exactly."""
_KEPT = "".join(chr(one) for one in range(32, 127) if chr(one) != "%")
_IN_QUERY = '/:,*.[]"{}'
_SELECTS = ("run", "type", "scope", "series")


@dataclass(frozen=True, slots=True)
class Quote:
    """A value of the record, as a page has it."""

    value: str
    """Its JSON in ASCII, or ``sha256:…`` of that if it is long, or ``erased``."""
    text: str
    """The same for people, with nothing in it that a page acts on."""
    marks: dict[str, str] = field(default_factory=dict[str, str])
    """The citation, as attributes of an element."""

    @property
    def reference(self) -> str:
        """The citation as one text: ``45/result``, ``45#/time``, ``count?type=x.y``."""
        marks = {name: as_ascii(one) for name, one in self.marks.items()}
        if "data-rule" in marks:
            about = [
                f"{name.removeprefix('data-')}={url_quote(one, _IN_QUERY, errors='surrogatepass')}"
                for name, one in self.marks.items()
                if name not in ("data-rule", "data-as")
            ]
            return "?".join([marks["data-rule"], *(["&".join(about)] if about else [])])
        head = f"#{marks['data-head']}" if "data-head" in marks else ""
        return marks["data-event"] + head + marks.get("data-path", "")


def as_ascii(text: str) -> str:
    """Return *text* with all but printable ASCII as in a URI (RFC 6901, section 6)."""
    return url_quote(text, safe=_KEPT, errors="surrogatepass")


def as_written(text: str) -> str:
    """Return what `as_ascii` was given."""
    return unquote(text, errors="surrogatepass")


def pointer(*names: str | int) -> str:
    """Return the RFC 6901 pointer that goes through *names*."""
    parts = (str(one).replace("~", "~0").replace("/", "~1") for one in names)
    return "".join(f"/{one}" for one in parts)


class RunReader:
    """What a ledger, or a bundle of it, says about one run, up to a checkpoint."""

    def __init__(self, ledger: Source, run: str, size: int) -> None:
        """Read the first *size* events of *ledger*, for a page about *run*."""
        self.ledger = ledger
        self.run = run
        self.size = size
        self._ends: dict[str, Event] = {}
        self.event = lru_cache(maxsize=256)(self._event)
        self.data = lru_cache(maxsize=16)(self._data)
        self.verified = lru_cache(maxsize=1)(self._verified)

    def events(
        self,
        type: str | None = None,  # noqa: A002 - as `Ledger.events` calls it
        run: str | None = None,
        series: str | None = None,
    ) -> Iterator[Event]:
        """Yield the events that pass, up to the checkpoint."""
        return self.ledger.events(type=type, run=run, series=series, to_seq=self.size)

    @property
    def started(self) -> Event:
        """The first event of the run."""
        return self._outermost("asc")

    @property
    def last(self) -> Event:
        """The last event of the run, up to the checkpoint."""
        return self._outermost("desc")

    def _outermost(self, order: Literal["asc", "desc"]) -> Event:
        if order not in self._ends:
            found = self.ledger.events(
                run=self.run, to_seq=self.size, order=order, limit=1
            )
            (self._ends[order],) = found
        return self._ends[order]

    @property
    def unseen(self) -> str:
        """What follows words on absence, if events of the run are withheld."""
        hidden = getattr(self.ledger, "withheld", NOTHING).events
        return ", as far as is shown here: some events are withheld" if hidden else ""

    def look(self, event: int, path: str) -> JsonValue:
        """Return what *path* leads to in the data of *event*.

        Raises:
            ErasedError: it was erased.
            UsageError: there is no such event, or the path leads nowhere.

        """
        return _followed(self.data(event), path, self.ledger)

    def quote(self, citation: Citation) -> Quote:
        """Return the value that *citation* names, and how it is shown."""
        marks = {
            f"data-{name}": str(one) for name, one in citation.items() if one != ""
        }
        form = marks.get("data-as", "line")
        try:
            value = self._value(citation)
        except ErasedError:
            return Quote("erased", ERASED, marks)
        except NotInBundle as error:
            path = str(citation.get("path", ""))
            if form == "path" and path.count("/") == 1 and "~" not in path:
                return Quote(json.dumps(path[1:]), shown(path[1:], form), marks)
            told = WITHHELD if isinstance(error, WithheldFromBundle) else ABSENT
            return Quote(told, told, marks)
        told = json.dumps(value, sort_keys=True, separators=(",", ":"))
        if len(told) > _LONGEST:
            told = f"sha256:{sha256(told.encode()).hexdigest()}"
        return Quote(told, shown(value, form, citation.get("event")), marks)

    def _value(self, citation: Citation) -> JsonValue:
        if "rule" in citation:
            return self._computed(citation)
        event = citation["event"]
        if type(event) is not int or not 0 <= event < self.size:
            raise _nowhere(f"event {event}", "there is no such event")
        if "head" in citation:
            value = _followed(self._head(event), str(citation["head"]), self.ledger)
        else:
            value = self.look(event, str(citation["path"]))
        path = str(citation.get("path") or citation.get("head"))
        if citation.get("as") == "name":
            return path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        return path[1:] if citation.get("as") == "path" else value

    def _event(self, seq: int) -> Event:
        return self.ledger.event(seq)

    def _head(self, seq: int) -> dict[str, JsonValue]:
        event = self.event(seq)
        members: dict[str, JsonValue] = {
            "actor": event.actor,
            "hash": event.hash,
            "key": PublicKey(event.key).keyid,
            "ledger": event.ledger or self.ledger.id,
            "run": event.run,
            "scope": event.scope,
            "seq": event.seq,
            "series": {one.key: one.count for one in event.series},
            "tenant": event.tenant,
            "time": event.time,
            "type": event.type,
        }
        return members

    def _data(self, seq: int) -> dict[str, JsonValue | BlobRef]:
        members = self.event(seq).raw.items()
        return {name: self._read(value) for name, value in members}

    def _read(self, value: JsonValue) -> JsonValue | BlobRef:
        if not isinstance(value, dict) or "$blob" not in value:
            return value
        ref = BlobRef.from_json(value)
        try:
            content = self.ledger.get_blob(ref)
        except (ErasedError, NotInBundle):
            return ref
        if ref.media.startswith("application/json"):
            return parse(content)
        if ref.media.startswith("text/"):
            return content.decode("utf-8", "replace")
        return {"$bytes": base64.b64encode(content).decode()}

    def _computed(self, citation: Citation) -> JsonValue:
        """Return what a rule says about the events that it selects."""
        rule, of = citation["rule"], citation.get("of")
        if rule == "checkpoint":
            return self.size if of == "size" else self.ledger.root(self.size).hex()
        if rule == "verify":
            return cast("JsonValue", getattr(self.verified(), str(of)))
        if rule == "runs":
            keys = cast("list[str]", json.loads(str(of)))
            found = (one for key in keys for one in self.events(series=key))
            return len({one.run for one in found if one.run is not None})
        events = self._selected(citation)
        if rule == "count":
            return sum(1 for _ in events)
        numbers = list(self._numbers(events, str(citation["path"])))
        if rule == "sum":
            return total(numbers)
        if rule == "mean" and numbers:
            return total(numbers) / len(numbers)
        raise _nowhere(str(rule), "there is no such rule, or nothing to apply it to")

    def _selected(self, citation: Citation) -> Iterator[Event]:
        chosen = {one: str(citation[one]) for one in _SELECTS if one in citation}
        scope = chosen.pop("scope", None)
        for event in self.events(**chosen):
            own = event.scope or ""
            if scope is None or own == scope or own.startswith(f"{scope}/"):
                yield event

    def _numbers(self, events: Iterator[Event], path: str) -> Iterator[float]:
        for event in events:
            try:
                value = plain(self.look(event.seq, path))
            except UsageError:
                continue
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield value

    def _verified(self) -> Report:
        if isinstance(self.ledger, BundleReader):
            return self.ledger.verified
        from muniment_plugins.evidence.bundle import verified_record  # noqa: PLC0415 - reads and verifies the whole run

        return verified_record(self.ledger, self.run)


def plain(value: JsonValue) -> JsonValue:
    """Return the number of a tagged float or integer; any other value as it is.

    An integer that no float comes near is infinite, as it is in every mean.
    """
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((tag, text),) = value.items()
    if tag == "$float":
        return float(str(text))
    if tag == "$int":
        short = len(str(text)) <= _DIGITS
        return int(str(text)) if short else float(str(text))
    return value


def total(numbers: Sequence[float]) -> float:
    """Return the sum, exact and then rounded once: one on every Python, in any order.

    The built-in `sum` of floats came to depend on the version with Python 3.12.
    """
    if not all(map(math.isfinite, numbers)) or not any(
        isinstance(one, float) for one in numbers
    ):
        return sum(numbers)
    exact = sum(map(Fraction, numbers), Fraction())
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _followed(document: object, path: str, ledger: Source) -> JsonValue:
    """Return what the RFC 6901 pointer *path* leads to in *document*."""
    value = cast("JsonValue | BlobRef", document)
    if path and not path.startswith("/"):
        raise _nowhere(path, "this is no JSON pointer")
    for part in path.split("/")[1:]:
        if isinstance(value, BlobRef):
            break
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _is_index(name, len(value)):
            value = value[int(name)]
        else:
            raise _nowhere(path, "the path leads nowhere")
    if isinstance(value, BlobRef):
        ledger.get_blob(value)  # raises that it was erased, when, and why
        raise _nowhere(path, "the blob was erased while it was read")
    return value


def _is_index(name: str, length: int) -> bool:
    if len(name) > len(str(length)) or not name.isdecimal():
        return False
    return name == str(int(name)) and int(name) < length


def _nowhere(place: str, what: str) -> UsageError:
    remedy = "write the report again from the ledger"
    return UsageError(what, rule="report/citation", place=place, remedy=remedy)

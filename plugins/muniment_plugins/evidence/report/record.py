"""The one way from the record to a page: a citation becomes a quote.

    record.quote({"event": 45, "path": "/result/pairs"})       the number 6
    record.quote({"event": 45, "head": "/time"})               when, as its writer claims
    record.quote({"rule": "mean", "type": "metrics.measured", "path": "/metrics/total"})
    record.quote({"rule": "change", "of": "7,9", "type": …, "path": "/metrics/total"})

Rules:

- A *path* is an RFC 6901 pointer into the data of an event, each blob in the place of its
  reference; a *head* is one into what an event says beside its data.
- What follows from several events names a rule and which events it is about; everybody
  who has the ledger counts again.
- A *change* is what *path* leads to in the first of two events, less that in the second,
  in percent of the mean that the rest of the citation selects. *minus* turns the sign of
  one number.
- Nothing after the checkpoint of the page is read, except erasures.
- A private content is not quoted, but what says that it is private (`events.visibility`).
- What was erased is a quote, too: it says so. So does what follows from it: a sum of
  what is left would be another number.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from muniment.errors import ErasedError, UsageError
from muniment.events.readable import as_signed
from muniment.events.visibility import PRIVATE, VISIBILITY, hides
from muniment.formats.evidence import NOTHING
from muniment.formats.statement import BlobRef
from muniment.keys.ed25519 import PublicKey
from muniment.verification.page.quotes import (
    CONSTANTS,
    MOST_CONTENT,
    LeadsNowhere,
    OddContent,
    change,
    decoded,
    follow,
    plain,
    reference,
    tagged,
    total,
    valued,
)
from muniment.verification.page.wording import (
    IS_ABSENT,
    IS_ERASED,
    IS_LARGE,
    IS_WITHHELD,
    shown,
)
from muniment_plugins.evidence.bundle_contents import (
    BundleContents,
    NotInBundle,
    WithheldFromBundle,
)
from muniment_plugins.evidence.bundle_reader import BundleReader

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment.verification.report import Report
    from muniment_plugins.evidence.report.preview import BundlePreview

__all__ = [
    "Citation",
    "Quote",
    "RunReader",
    "Source",
    "pointer",
]

Source: TypeAlias = "Ledger | BundleReader | BundlePreview"
"""What is read: all answer events, contents, series and tree heads alike."""
Citation: TypeAlias = "Mapping[str, JsonValue]"
"""``event`` with ``path`` or ``head``, or ``rule`` with what it is about; and ``as``."""

_SELECTS = ("run", "type", "scope", "series")
_LONGEST_SEQ = 18


class TooLargeForPage(NotInBundle):
    """A content of which a page cites nothing."""


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
        return reference(self.marks)


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
        self.content = lru_cache(maxsize=16)(self._content)
        self.verified = lru_cache(maxsize=1)(self._verified)
        self._mean_of = lru_cache(maxsize=64)(self._mean)

    def events(
        self,
        type: str | None = None,  # noqa: A002 - as `Ledger.events` calls it
        run: str | None = None,
        series: str | None = None,
    ) -> Iterator[Event]:
        """Yield the events that pass, up to the checkpoint."""
        found = self.ledger.events(type=type, run=run, series=series, to_seq=self.size)
        return map(as_signed, found)

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
            (self._ends[order],) = map(as_signed, found)
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
        return self._follow(self.event(event).raw, path)

    def _follow(self, document: Mapping[str, JsonValue], path: str) -> JsonValue:
        try:
            return follow(dict(document), path, self._read)
        except OddContent as error:
            raise UsageError(
                str(error),
                rule="report/content",
                place=path,
                remedy="run `muniment verify`; no muniment wrote this content",
            ) from None
        except LeadsNowhere as error:
            raise _nowhere(path, str(error)) from None

    def quote(self, citation: Citation) -> Quote:
        """Return the value that *citation* names, and how it is shown.

        In place of a private content it is what says that it is private.
        """
        citation = self._shown(citation)
        marks = {
            f"data-{name}": str(one) for name, one in citation.items() if one != ""
        }
        form = marks.get("data-as", "line")
        try:
            value = self.value(citation)
        except ErasedError:
            return Quote("erased", IS_ERASED, marks)
        except NotInBundle as error:
            told = IS_WITHHELD if isinstance(error, WithheldFromBundle) else IS_ABSENT
            told = IS_LARGE if isinstance(error, TooLargeForPage) else told
            return Quote(told, told, marks)
        return Quote(valued(value), shown(value, form, citation.get("event")), marks)

    def _shown(self, citation: Citation) -> Citation:
        event, path = citation.get("event"), str(citation.get("path", ""))
        if type(event) is not int or not 0 <= event < self.size:
            return citation
        name = path[1:].partition("/")[0]
        try:
            if self._is_named(citation) or not hides(self.event(event), name):
                return citation
        except NotInBundle:
            return citation  # nothing of it is here
        if name == PRIVATE or citation.get("as") in ("name", "path"):
            return {"event": event, "path": f"/{name}", "as": "path"}
        return {"event": event, "path": f"/{VISIBILITY}"}

    def value(self, citation: Citation) -> JsonValue:
        """Return the value that *citation* names.

        Raises:
            ErasedError: it was erased, or something that it follows from.
            NotInBundle: the bundle does not hold it.
            UsageError: it leads nowhere.

        """
        if "rule" in citation:
            return self._computed(citation)
        event = citation["event"]
        if type(event) is not int or not 0 <= event < self.size:
            raise _nowhere(f"event {event}", "there is no such event")
        if "head" in citation:
            value = self._follow(self._head(event), str(citation["head"]))
        elif self._is_named(citation):
            return str(citation["path"])[1:]
        else:
            value = self.look(event, str(citation["path"]))
        path = str(citation.get("path") or citation.get("head"))
        if citation.get("as") == "name":
            return path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        return path[1:] if citation.get("as") == "path" else value

    def hides(self, event: int, name: str) -> bool:
        """Tell whether the content that *event* has in *name* is private."""
        return hides(self.event(event), name)

    def _is_named(self, citation: Citation) -> bool:
        """Tell whether it cites the name of a member, whose content need not be here."""
        path = str(citation.get("path", ""))
        alone = path.count("/") == 1 and "~" not in path
        data = self.event(cast("int", citation["event"])).raw
        return citation.get("as") == "path" and alone and path[1:] in data

    def _event(self, seq: int) -> Event:
        return as_signed(self.ledger.event(seq))

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

    def _read(self, reference: Mapping[str, JsonValue]) -> JsonValue:
        """Return the content of a blob; see `RunReader.look` for what it raises."""
        return self.content(BlobRef.from_json(dict(reference)))

    def _content(self, ref: BlobRef) -> JsonValue:
        if ref.size > MOST_CONTENT:
            raise TooLargeForPage(
                f"a page cites nothing in a blob of {ref.size:,} bytes",
                rule="report/large",
                place=ref.digest,
                remedy="`muniment events show --full` prints it",
            )
        return decoded(self.ledger.get_blob(ref), ref.media)

    def _computed(self, citation: Citation) -> JsonValue:
        """Return what a rule says of the record as a whole."""
        rule, of = citation["rule"], citation.get("of")
        if rule == "checkpoint":
            return self.size if of == "size" else self.ledger.root(self.size).hex()
        if rule == "withheld":
            withheld = getattr(self.ledger, "withheld", NOTHING)
            return len(withheld.blobs if of == "blobs" else withheld.events)
        if rule == "verify":
            return cast("JsonValue", getattr(self.verified(), str(of)))
        if rule == "runs":
            keys = cast("list[str]", json.loads(str(of)))
            found = (one for key in keys for one in self.events(series=key))
            return len({one.run for one in found if one.run is not None})
        if rule in CONSTANTS:
            return CONSTANTS[str(rule)]
        counts = rule not in ("minus", "change")
        return self._counted(citation) if counts else self._derived(citation)

    def _derived(self, citation: Citation) -> JsonValue:
        """Return what follows from one number, or from two and a mean."""
        named, path = str(citation.get("of")).split(",", 2), str(citation["path"])
        numbers = [self._number(one, path) for one in named]
        if (citation["rule"], len(numbers)) == ("minus", 1):
            return tagged(-numbers[0])
        chosen = (*((one, str(citation[one])) for one in _SELECTS if one in citation),)
        mean = self._mean_of(path, chosen)
        try:
            first, second = numbers
            return tagged(change(first, second, 0 if mean is None else mean))
        except (LeadsNowhere, ValueError) as error:
            raise _nowhere(str(citation["rule"]), str(error)) from None

    def _number(self, event: str, path: str) -> float:
        digits = event.isascii() and event.isdecimal() and len(event) <= _LONGEST_SEQ
        if not digits or event != str(int(event)):
            raise _nowhere(event, "this is no event")
        value = plain(self.value({"event": int(event), "path": path}))
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise _nowhere(path, "this is no number")
        return value

    def _mean(self, path: str, chosen: tuple[tuple[str, str], ...]) -> float | None:
        """Return the mean of what is chosen; None if there is none."""
        numbers = list(self._numbers_of(dict(chosen), path))
        return total(numbers) / len(numbers) if numbers else None

    def _counted(self, citation: Citation) -> JsonValue:
        """Return what a rule says about the events that it selects."""
        rule = citation["rule"]
        if rule == "count":
            return sum(1 for _ in self.selected(citation))
        numbers = list(self._numbers_of(citation, str(citation["path"])))
        if rule == "sum":
            return tagged(total(numbers))
        if rule == "mean" and numbers:
            return tagged(total(numbers) / len(numbers))
        raise _nowhere(str(rule), "there is no such rule, or nothing to apply it to")

    def selected(self, citation: Citation) -> Iterator[Event]:
        """Yield the events that a rule is about."""
        chosen = {one: str(citation[one]) for one in _SELECTS if one in citation}
        scope = chosen.pop("scope", None)
        for event in self.events(**chosen):
            own = event.scope or ""
            if scope is None or own == scope or own.startswith(f"{scope}/"):
                yield event

    def _numbers_of(self, citation: Citation, path: str) -> Iterator[float]:
        return self.numbers((one.seq for one in self.selected(citation)), path)

    def numbers(self, events: Iterable[int], path: str) -> Iterator[float]:
        """Yield the numbers to which *path* leads in the *events*."""
        for event in events:
            try:
                value = plain(self.look(event, path))
            except UsageError as error:
                if error.rule == "report/content":
                    raise  # a number may be in it: nobody can tell
                continue
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield value

    def _verified(self) -> Report:
        if isinstance(self.ledger, BundleReader):
            deque(self.events(run=self.run), maxlen=0)  # refuses what is malformed
            return self.ledger.verified
        if isinstance(self.ledger, BundleContents):
            raise _nowhere("verify", "a page in a bundle does not judge it")
        from muniment_plugins.evidence.raw_record import verified_record  # noqa: PLC0415 - reads and verifies the whole run

        return verified_record(self.ledger, self.run)


def _nowhere(place: str, what: str) -> UsageError:
    remedy = "write the report again from the ledger"
    return UsageError(what, rule="report/citation", place=place, remedy=remedy)

"""The record of a run, as every export reads it.

    record = ExportedRun.of(ledger, "01JD3…")
    record.steps      each effect: its request, and its outcome if it has one
    record.facts      every other event
    record.coverage({"tool.requested": 3})     "44 of 47 events; without a place: …"

Rules:

- Every event of the run is in `steps` or in `facts`, once. An export says of how many it
  has a place, and of which it has none, inside what it writes.
- What the run is marked with is said beside that, in every format: a table or a trace may
  be read without its events.
- A content is never left out: it is among those that are held, or among those that are
  missing, with why and its commitment. The two are kept apart, since a content may look
  like whatever would stand in its place.
- What an event says is private, by ``visibility`` or in a field ``private``, is missing
  as ``private``: it is in the ledger and in bundles, and goes no further.
- How a content is written is said beside it, never inside it. It leads back to the bytes
  that the commitment is over, whatever its media type claims.
- Contents are read once, when they are asked for.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from muniment.encoding.canonical import canonical, parse_canonical
from muniment.errors import CannotTellError, ErasedError, MunimentError, UsageError
from muniment.events.readable import as_signed, references
from muniment.events.visibility import PRIVATE, hides
from muniment.formats.evidence import NOTHING
from muniment.formats.lifecycle import ENDS, LIFE, MARKED, PAUSED

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import BlobRef, Event, Subject
    from muniment_plugins.evidence.report.record import Source

__all__ = [
    "ExportedContents",
    "ExportedEffect",
    "ExportedRun",
    "about",
    "coverage_of",
    "needed",
    "pairs",
]

_OUTCOMES = (".completed", ".failed")
_REQUESTED = ".requested"


@dataclass(slots=True)
class ExportedEffect:
    """One effect of a run."""

    kind: str
    """``llm``, ``tool``, …"""
    request: Event
    """The newest, if a resume asked again."""
    earlier: list[Event]
    """Requests and outcomes of attempts before it."""
    outcome: Event | None = None

    @property
    def events(self) -> list[Event]:
        """Every event of it, in the order of the log."""
        ended = [] if self.outcome is None else [self.outcome]
        return [*self.earlier, self.request, *ended]

    @property
    def failed(self) -> bool:
        """Whether its outcome is a failure."""
        return self.outcome is not None and self.outcome.type.endswith(".failed")


@dataclass(frozen=True, slots=True)
class ExportedContents:
    """The blobs to which one event refers: field → what is known of each."""

    held: dict[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])
    """As JSON."""
    encoding: dict[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])
    """How each that is held is written: ``json``, ``text`` or ``base64``."""
    missing: dict[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])
    """Each that is not: its ``state`` (erased, withheld, absent, private), and its ``digest``."""


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """The events of one run, in the order of the log."""

    ledger: Source
    run: str
    events: Sequence[Event]
    steps: Sequence[ExportedEffect]
    facts: Sequence[Event]
    """Whatever is neither the request nor the outcome of an effect."""

    @classmethod
    def of(cls, ledger: Source, run: str) -> ExportedRun:
        """Read the run.

        Raises:
            UsageError: it has no events.
            WrongError: one of them is malformed.

        """
        events = [as_signed(event) for event in ledger.events(run=run)]
        if not events:
            raise UsageError(
                "the ledger has no such run",
                rule="run/unknown",
                place=run,
                remedy="`muniment runs list` names all",
            )
        steps: dict[tuple[str, int, str], ExportedEffect] = {}
        facts: list[Event] = []
        for event in events:
            kind, place = _effect(event), (event.scope or "", event.ordinal or 0)
            if event.type.endswith(_REQUESTED):
                known = steps.get((*place, kind))
                earlier = [] if known is None else known.events
                steps[*place, kind] = ExportedEffect(kind, event, earlier)
                continue
            step = steps.get((*place, kind))
            if kind and step is not None and step.outcome is None:
                step.outcome = event
            else:
                facts.append(event)
        return cls(ledger, run, events, list(steps.values()), facts)

    @property
    def started(self) -> Event:
        """The first event."""
        return self.events[0]

    @property
    def marks(self) -> list[str]:
        """What the run is marked with, each mark once, in order."""
        told = (one.raw.get("mark") for one in self.events if one.type == MARKED)
        return list(dict.fromkeys(str(one) for one in told))

    @property
    def ended(self) -> Event | None:
        """The event by which it ended; None while it is open, or paused.

        Decisions and judgements may follow an end.
        """
        found = next(one for one in reversed(self.events) if one.type in LIFE)
        return found if found.type in ENDS and found.type != PAUSED else None

    @property
    def name(self) -> str:
        """What the run is called."""
        return str(self.started.raw.get("name") or self.run)

    def contents(self, event: Event) -> ExportedContents:
        """Return what is known of each blob to which *event* refers."""
        found = ExportedContents()
        for name, ref in references(event).items():
            if hides(event, name):
                found.missing[name] = {"state": PRIVATE, "digest": ref.digest}
            else:
                self._read(found, name, ref)
        return found

    def _read(self, found: ExportedContents, name: str, ref: BlobRef) -> None:
        try:
            data = self.ledger.get_blob(ref)
        except ErasedError:
            found.missing[name] = {"state": "erased", "digest": ref.digest}
        except CannotTellError as error:
            if error.rule not in ("bundle/absent", "bundle/withheld"):
                raise
            state = error.rule.removeprefix("bundle/")
            found.missing[name] = {"state": state, "digest": ref.digest}
        else:
            found.encoding[name], found.held[name] = _written(data, ref.media)

    def coverage(self, without: Mapping[str, int] | None = None) -> str:
        """Say of how many events an export has a place, and of which it has none."""
        left = Counter(without or {})
        withheld = getattr(self.ledger, "withheld", NOTHING)
        if withheld.events:
            left["withheld"] = len(withheld.events)
        return coverage_of(len(self.events) + len(withheld.events), left)


def coverage_of(total: int, without: Mapping[str, int]) -> str:
    """Say of *total* events how many have a place, and of which there is none."""
    named = ", ".join(f"{number} {kind}" for kind, number in sorted(without.items()))
    placed = total - sum(without.values())
    return f"{placed} of {total} events; without a place: {named or 'none'}"


def about(event: Event) -> list[Subject]:
    """Return what an event is about, but for its own data: blobs, code, files."""
    return [one for one in event.subject if one.name != "data.json"]


def _written(data: bytes, media: str) -> tuple[str, JsonValue]:
    """Return how a content is written, and the content; both together give its bytes."""
    if media.startswith("application/json"):
        try:
            value = parse_canonical(data)
            canonical([value])  # it has to fit one level deeper, too
        except MunimentError:
            pass
        else:
            return "json", value
    if media.startswith(("application/json", "text/")):
        try:
            return "text", data.decode()
        except UnicodeDecodeError:
            pass
    return "base64", base64.b64encode(data).decode()


def _effect(event: Event) -> str:
    """Return the kind of effect that *event* may be a part of, else nothing."""
    for end in (_REQUESTED, *_OUTCOMES):
        if event.type.endswith(end) and not event.type.startswith("run."):
            return event.type.removesuffix(end)
    return ""


def needed(package: str, extra: str) -> CannotTellError:
    """Return the error of an export whose library is not installed."""
    return CannotTellError(
        f"this format needs the package {package}",
        rule="export/package",
        place=package,
        remedy=f"pip install 'muniment[{extra}]'",
    )


def pairs(record: ExportedRun) -> Iterator[tuple[Event, str]]:
    """Yield each event, and the kind of the effect that it is a part of."""
    kinds = {one.seq: step.kind for step in record.steps for one in step.events}
    for event in record.events:
        yield event, kinds.get(event.seq, "")

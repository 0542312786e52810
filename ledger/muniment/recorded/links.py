"""What a fact says beside its data: the subjects and the series that its statement gave.

    run.record("note.added", {"text": "…"}, subject=[("report", "sha256:9f86…")])

    stated(prepared)        ComparedFact({"text": "…"}, FactLinks(("report sha256:9f86…",), ()))

Rules:

- A program that states the same data about something else, or in another series, states
  another fact. The result digest is over data alone; this is compared beside it.
- What follows from the data is left out, since the data is compared: commitments to
  contents, digests of public fields, and the series that a type joins by itself. So a
  record from before a type joined a series is not another.
- In a ledger from before there were series, plugins did not say what their facts are
  about: such a fact, of a type that a plugin declares, is compared by its data alone.
- The order in which subjects and series are given says nothing. The ids of the run, and of
  those above it, are not compared either: a session of a run is another in its fork.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.events.visibility import PRIVATE, VISIBILITY
from muniment.formats.statement import BlobRef, Event, Subject
from muniment.recorded.compare import ReadContent, comparable, comparable_event
from muniment.recorded.descent import parent_of

if TYPE_CHECKING:
    from muniment.events.types import EventType, Prepared

__all__ = ["NO_LINKS", "ComparedFact", "FactLinks", "links_of", "runs_of", "stated"]

_OWN = "data.json"
"""The subject of an event that is about nothing else."""


@dataclass(frozen=True, slots=True)
class FactLinks:
    """The subjects and series of a fact, each in order, as texts."""

    subject: tuple[str, ...] = ()
    """``name sha256:…`` of each."""
    series: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """Return it as plain JSON: only what there is."""
        said = {"subject": [*self.subject], "series": [*self.series]}
        return {name: cast("JsonValue", texts) for name, texts in said.items() if texts}

    @classmethod
    def from_json(cls, value: Mapping[str, JsonValue]) -> Self:
        """Read back what `to_json` wrote.

        Raises:
            TypeError: it has another form.

        """
        found: dict[str, tuple[str, ...]] = {}
        for name, texts in value.items():
            if not isinstance(texts, list) or not all(
                isinstance(t, str) for t in texts
            ):
                raise TypeError("subjects and series are lists of texts")
            found[name] = tuple(sorted(cast("list[str]", texts)))
        return cls(**found)

    def difference(self, other: FactLinks) -> tuple[str, JsonValue, JsonValue] | None:
        """Return the field, and what only this one and only the *other* have there."""
        for name, mine, theirs in (
            ("subject", self.subject, other.subject),
            ("series", self.series, other.series),
        ):
            if mine != theirs:
                return name, _only(mine, theirs), _only(theirs, mine)
        return None

    def without(self, runs: Iterable[str]) -> FactLinks:
        """Return them with ``$run`` in place of the ids of *runs*."""

        def named(texts: tuple[str, ...]) -> tuple[str, ...]:
            for run in runs:
                texts = tuple(one.replace(run, "$run") for one in texts)
            return tuple(sorted(texts))

        return (
            FactLinks(named(self.subject), named(self.series))
            if self != NO_LINKS
            else self
        )


NO_LINKS = FactLinks()
"""A fact about nothing but its data, in no series but those of its type."""


@dataclass(frozen=True, slots=True)
class ComparedFact:
    """A fact or a request of a program, as it is compared."""

    data: dict[str, JsonValue]
    links: FactLinks = NO_LINKS
    private: bool = field(default=False, compare=False)
    """Whether the program keeps it private."""


def runs_of(started: Event) -> tuple[str, ...]:
    """Return the ids of the run that *started*, of its parent, and of the root."""
    above = parent_of(started)
    known = (started.run, above.get("run"), above.get("root"))
    return tuple(str(one) for one in known if one)


def stated(
    prepared: Prepared, runs: Iterable[str] = (), *, private: bool = False
) -> ComparedFact:
    """Return a fact of a run that is about to be written, as it is compared.

    *runs* are the ids that `runs_of` returns for it. It is *private* also if it says so.
    """
    data = comparable(prepared)
    private |= prepared.inline.get(VISIBILITY) == PRIVATE
    if not (prepared.about or prepared.joined):
        return ComparedFact(data, private=private)
    contents = {name: one.data for name, one in prepared.contents.items()}
    given = _given(prepared.about, {**prepared.inline, **contents})
    links = FactLinks(given, tuple(sorted(prepared.joined))).without(runs)
    return ComparedFact(data, links, private)


def links_of(
    event: Event, event_type: EventType | None, read: ReadContent
) -> FactLinks:
    """Return what a recorded fact says beside its data.

    Raises:
        ErasedError: a content that a subject may be the digest of was erased.

    """
    if not event.series and [one.name for one in event.subject] == [_OWN]:
        return NO_LINKS
    contents: dict[str, object] = {}
    commitments: set[tuple[str, str]] = set()
    for name, value in event.raw.items():
        if isinstance(value, dict) and "$blob" in value:
            ref = BlobRef.from_json(value)
            commitments.add((name, ref.digest))
            contents[name] = ref
    about = [
        one
        for one in event.subject
        if one.name != _OWN and (one.name, one.digest) not in commitments
    ]
    named = {one.name for one in about} & contents.keys()
    parts = {name: read(cast("BlobRef", contents[name])) for name in named}
    given = _given(about, {**event.raw, **parts}) if about else ()
    keys = {one.key for one in event.series}
    if keys and event_type is not None:
        keys -= _joins(event, event_type, read)
    return FactLinks(given, tuple(sorted(keys))) if given or keys else NO_LINKS


def _joins(event: Event, event_type: EventType, read: ReadContent) -> set[str]:
    """Return the series that the type of a recorded *event* joins by its data."""
    if event_type.series is None:
        return set()
    known = event_type.upcast(event.version, event.raw)
    data = {**known, **comparable_event(event, event_type, read)}
    try:
        return set(event_type.series(data))
    except Exception:  # noqa: BLE001 - a forged record has any data; it is compared as it is
        return set()


def _given(about: Iterable[Subject], data: Mapping[str, object]) -> tuple[str, ...]:
    """Return the subjects that are no digest of the member of *data* with their name."""
    kept = (
        one
        for one in about
        if one.name not in data or one.digest not in _digests(data[one.name])
    )
    return tuple(sorted(f"{one.name} {one.digest}" for one in kept))


def _digests(value: object) -> set[str]:
    """Return the digests that a public field with this *value* may have."""
    if isinstance(value, bytes):
        return {sha256_tag(value)}
    found = {sha256_tag(canonical(cast("JsonValue", value)))}
    return found | {sha256_tag(value.encode())} if isinstance(value, str) else found


def _only(texts: tuple[str, ...], others: tuple[str, ...]) -> str | None:
    """Return those of *texts* that are not among the *others*; None for none."""
    left = Counter(texts) - Counter(others)
    return ", ".join(sorted(left.elements())) or None

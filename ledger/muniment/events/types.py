"""Event types: a name, a version, a frozen model of the data, and marks of its fields.

    class NoteAdded(EventData):
        text: Annotated[str, LARGE]
        details: Annotated[object, BLOB] = None

    NOTE_ADDED = EventType("note.added", NoteAdded)

Rules:

- Data is declared as an `EventData`, which is a pydantic model, or, if all fields are
  plain, as a `PlainData`: the same, read without loading pydantic.
- A name is ``noun.past_participle``; a change of meaning is a new version, read through
  upcasters; bytes never change.
- A field is inline unless marked: ``BLOB`` is always kept outside, behind a salted
  commitment, ``LARGE`` is so above 4 KiB, ``TEXT`` is plain UTF-8 in its blob,
  ``PUBLIC`` adds its plain SHA-256 to the event's subjects, ``VOLATILE`` is recorded
  and never compared, ``VEILED`` is kept outside, too, if the event is private.
- The author of a model must make sure that inline fields are not personal; prompts,
  answers, arguments, results and free-form details are ``BLOB``.
- A type may be its declaration's own: then no program states it, whatever its data say.
- Reading keeps unknown types and newer versions as they are.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import isclass
from typing import TYPE_CHECKING, TypeAlias, cast

from muniment.encoding.canonical import JsonValue, canonical
from muniment.encoding.codec import encode, written
from muniment.encoding.registry import ValueTypes
from muniment.errors import RefusedError, UsageError
from muniment.events.fields import (
    BLOB,
    LARGE,
    PUBLIC,
    TEXT,
    VEILED,
    VOLATILE,
    Mark,
    Plain,
    PlainData,
    fields_of,
)
from muniment.formats.statement import Data, Subject
from muniment.lazy import lazy

if TYPE_CHECKING:
    from muniment.events.pydantic_fields import EventData

__all__ = [
    "BLOB",
    "INLINE_LIMIT",
    "LARGE",
    "PUBLIC",
    "TEXT",
    "VEILED",
    "VOLATILE",
    "Content",
    "EventData",
    "EventType",
    "EventTypes",
    "PlainData",
    "Prepared",
]

__getattr__ = lazy(__name__, {"EventData": "muniment.events.pydantic_fields"})

INLINE_LIMIT = 4096
"""Above this many bytes a ``LARGE`` field moves to a blob."""

_PLAIN = ValueTypes()
_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


Upcaster: TypeAlias = Callable[[dict[str, JsonValue]], dict[str, JsonValue]]


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that go behind a commitment, and their media type."""

    data: bytes
    media: str = "application/json"
    plain: bool = False
    """Whether the JSON is the value itself, without tags of `encoding.codec`."""


_SHORT = Content(b"")
"""For a value that is so short that it is inline."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Validated data, split into inline values and contents."""

    type: EventType
    inline: dict[str, JsonValue]
    contents: dict[str, Content]
    subjects: tuple[Subject, ...]
    series: tuple[str, ...] = ()
    """The keys of the series that the event joins."""
    counts: tuple[tuple[str, int], ...] = ()
    """Series, each with how many events it has, as the event says."""
    written: bytes = b""
    """The inline values as a statement has them, once they are written and stay so."""
    about: tuple[Subject, ...] = ()
    """The subjects that whoever states it gives beside the data."""
    joined: tuple[str, ...] = ()
    """The series that whoever states it gives, beyond those of the type."""

    def veil(self) -> None:
        """Put what is ``VEILED`` behind commitments, before anything of it is written."""
        for name in self.type.veiled & self.inline.keys():
            if self.inline[name] not in ("", [], {}):
                self.contents[name] = Content(canonical(self.inline.pop(name)))


@dataclass(frozen=True, slots=True)
class _Placing:
    """The marks of a field, read once: they decide where its values go."""

    blob: bool
    large: bool
    text: bool
    public: bool
    plain: bool

    @classmethod
    def of(cls, marks: frozenset[Mark]) -> _Placing:
        stored = marks & {BLOB, LARGE, TEXT, PUBLIC}
        return cls(
            BLOB in marks, LARGE in marks, TEXT in marks, PUBLIC in marks, not stored
        )

    def written(self, value: object, types: ValueTypes) -> tuple[JsonValue, Content]:
        """Return *value* as inline JSON and as content."""
        if self.text:
            text = cast("str", encode(value, types))
            return text, Content(text.encode(), "text/plain; charset=utf-8")
        if not self.blob and not self.public:
            kind = type(value)
            if kind is str and len(cast("str", value)) < INLINE_LIMIT // 8:
                return encode(value, types), _SHORT
            if not value and (kind is list or kind is dict):
                return cast("JsonValue", value), _SHORT
        encoded, data = written(value, types)
        return encoded, Content(data, plain=encoded is value)


@dataclass(frozen=True)
class EventType:
    """A registered type of event."""

    name: str
    model: type[EventData | PlainData]
    version: int = 1
    upcasters: Mapping[int, Upcaster] = field(default_factory=dict[int, Upcaster])
    """Version → the step that turns its data into the next version's."""
    helps: tuple[str, ...] = ()
    """The paths of help for people inside fields, such as ``value.*.remedy``: it is
    recorded and never compared; ``*`` is each element of a list."""
    series: Callable[[Data], Iterable[str]] | None = None
    """Returns the series that an event with such data joins."""
    counts: Callable[[Data], Mapping[str, int]] | None = None
    """Returns the counts of series that such data states; the event is refused unless
    each series has so many events when it is written."""
    own: str | None = None
    """``module:Class`` of the only data that it takes: nobody but the code that has that
    class states such facts (`events.own_types`). None if any program may."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} is not an event type's name: it has two words or more, "
                "joined by dots, each of a-z, 0-9 and _, with a letter first",
                rule="event/type-name",
                remedy="use noun.past_participle, such as `review.finished`",
            )

        model: object = self.model
        plain = isclass(model) and issubclass(model, PlainData)
        if not plain and not hasattr(model, "model_fields"):
            raise UsageError(
                f"{model!r} does not declare data",
                rule="event/type-model",
                place=self.name,
                remedy="derive it from muniment.EventData or muniment.PlainData",
            )

    @cached_property
    def marks(self) -> Mapping[str, frozenset[Mark]]:
        """The marks of each field, in the order of the declaration."""
        found: dict[str, Iterable[object]]
        if issubclass(self.model, PlainData):
            kinds = fields_of(self.model)
            found = {n: getattr(kind, "__metadata__", ()) for n, kind in kinds.items()}
        else:
            found = {n: info.metadata for n, info in self.model.model_fields.items()}
        return {
            name: frozenset(one for one in metadata if isinstance(one, Mark))
            for name, metadata in found.items()
        }

    @cached_property
    def volatile(self) -> frozenset[str]:
        """The fields that are recorded and never compared."""
        return frozenset(n for n, marks in self.marks.items() if VOLATILE in marks)

    @cached_property
    def veiled(self) -> frozenset[str]:
        """The fields that a private event keeps outside of the signed bytes."""
        return frozenset(n for n, marks in self.marks.items() if VEILED in marks)

    def prepare(self, data: Data, types: ValueTypes = _PLAIN) -> Prepared:
        """Validate *data* and split it into inline values and blobs.

        Raises:
            RefusedError: a field is missing, unknown or of the wrong type.
            ValueRefused: a value cannot be written exactly.

        """
        try:
            given = {**data}
        except TypeError:
            raise _no_mapping(self.name, data) from None
        values = None if self._plain is None else self._plain.read(given)
        if values is None:
            values = self._refused_or_read(given)
        inline: dict[str, JsonValue] = {}
        contents: dict[str, Content] = {}
        subjects: list[Subject] = []
        for name, value in values.items():
            if value is None:
                continue
            how = self._placing[name]
            if how.plain:
                known = type(value) is str and value.isascii()  # as most are
                inline[name] = cast("str", value) if known else encode(value, types)
                continue
            if how.text and not isinstance(value, str):
                raise _no_text(self.name, name, value)
            text, content = how.written(value, types)
            if how.blob or (how.large and len(content.data) > INLINE_LIMIT):
                contents[name] = content
            else:
                inline[name] = text
            if how.public:
                digest = hashlib.sha256(content.data).hexdigest()
                subjects.append(Subject(name, f"sha256:{digest}"))
        series = () if self.series is None else tuple(self.series(values))
        counts = () if self.counts is None else tuple(self.counts(values).items())
        return Prepared(self, inline, contents, tuple(subjects), series, counts)

    @cached_property
    def _plain(self) -> Plain | None:
        return Plain(self.model) if issubclass(self.model, PlainData) else None

    @cached_property
    def full_model(self) -> type[EventData]:
        """The pydantic model of the data, made from a declaration of plain fields."""
        if not issubclass(self.model, PlainData):
            return self.model
        from muniment.events.pydantic_fields import model_of  # noqa: PLC0415 - it loads pydantic

        return model_of(self.model)

    def _refused_or_read(self, given: Mapping[str, object]) -> dict[str, object]:
        from muniment.events.pydantic_fields import read  # noqa: PLC0415 - it loads pydantic

        return read(self.name, self.full_model, given)

    @cached_property
    def _placing(self) -> Mapping[str, _Placing]:
        return {name: _Placing.of(marks) for name, marks in self.marks.items()}

    def upcast(self, version: int, data: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the *data* of an older *version* in the form of this one."""
        while version < self.version and version in self.upcasters:
            data = self.upcasters[version](data)
            version += 1
        return data


def _no_text(name: str, field_name: str, value: object) -> RefusedError:
    return RefusedError(
        f"the field is marked TEXT, and was given a {type(value).__name__}",
        rule="event/data",
        place=f"{name} {field_name}",
        remedy="give a string, or leave out the mark",
    )


def _no_mapping(name: str, data: object) -> RefusedError:
    return RefusedError(
        f"the data of an event is a mapping, not a {type(data).__name__}",
        rule="event/data",
        place=name,
        remedy="give the fields by name",
    )


class EventTypes:
    """The registry: every type that may be appended to a ledger."""

    def __init__(self, types: Iterable[EventType] = (), by: str = "") -> None:
        self._types: dict[str, EventType] = {}
        self._by: dict[str, str] = {}
        for one in types:
            self.register(one, by)

    def __iter__(self) -> Iterator[EventType]:
        return iter(self._types.values())

    def __contains__(self, name: str) -> bool:
        return name in self._types

    def register(self, event_type: EventType, by: str = "") -> None:
        """Add *event_type*, declared *by* somebody; the same name twice is refused."""
        known = self._types.get(event_type.name)
        if known is not None and known is not event_type:
            first = self._by[event_type.name]
            raise UsageError(
                f"the event type {event_type.name} is registered already"
                f"{first and f', by {first}'}",
                rule="event/type-twice",
                place=event_type.model.__qualname__,
                remedy="plugins put their own name first: `myplugin.thing_done`",
            )
        self._types[event_type.name] = event_type
        self._by.setdefault(event_type.name, by)

    def is_of_plugin(self, name: str) -> bool:
        """Tell whether a plugin declares the type *name*."""
        return self._by.get(name, "").startswith("plugin ")

    def of_plugin(self, name: str) -> EventType | None:
        """Return the type *name* if a plugin declares it: its readers rely on the fields."""
        return self._types[name] if self.is_of_plugin(name) else None

    def find(self, name: str) -> EventType | None:
        """Return the type *name*, or None."""
        return self._types.get(name)

    def get(self, name: str) -> EventType:
        """Return the type *name*.

        Raises:
            UsageError: nothing registered it; the message names the nearest type.

        """
        try:
            return self._types[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._types, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"no event type is called {name!r}",
                rule="event/type-unknown",
                remedy=f"{hint}plugins add types through the event_types hook, if they "
                "may load: see `muniment plugins`; programs add them with ledger.register",
            ) from None

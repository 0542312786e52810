"""The event types of sessions.

    session.opened            {"session": "desk", "source": "front", "at": 4}
    session.message_appended  {"session": "desk", "id": "m1", "role": "user", …}
    session.trimmed           {"session": "desk", "kept": 4, "dropped": 9}
    session.compacted         {"session": "desk", "strategy": "llm", "archived": 12, …}
    session.compaction_declined  {"session": "desk", "strategy": "truncate", …}
    session.reset             {"session": "desk", "dropped": 5}
    session.restored          {"session": "desk", "at": 17}
    session.state_changed     {"session": "desk", "state": "archived"}
    session.claimed           {"session": "desk", "run": "01J…"}
    session.released          {"session": "desk", "run": "01J…", "included": 6}
    session.joined            {"session": "desk", "position": 4}

Rules:

- Events of a session are in the series ``session/<id>``. Each says how many there were
  before it (``counted``), so of two writers at once one is refused.
- What a run writes is in a series of its own, ``session/<id>@<run>``, and has no count:
  the fork of a run states the same facts again, in another series. ``session.claimed``
  says where in the session the part of a run belongs.
- Counts of messages are in the events themselves: an erasure changes no transcript but its
  texts.
- What was said is a blob, and what is private is another one: each is erased by itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated

from muniment.events.effect_kinds import EffectKind
from muniment.events.types import BLOB, LARGE, VOLATILE, EventType, PlainData
from muniment.formats.series import series_key
from muniment.formats.statement import Data

__all__ = [
    "KINDS",
    "TYPES",
    "children_series",
    "part_series",
    "session_name",
    "session_series",
]

Free = dict[str, object]


class SessionOpened(PlainData):
    """A session begins, empty or as a fork of another one."""

    session: str
    source: str | None = None
    """The session that it was forked from."""
    at: int | None = None
    """How many events of the source it begins after."""
    keep_first: int | None = None
    """How many messages of the source it begins with; all of them if None."""
    kept: int = 0
    """How many messages it begins with."""
    counted: int | None = None
    """How many events of the session there were before; None within a run."""


class SessionMessageAppended(PlainData):
    """Somebody said something."""

    session: str
    id: str
    """Its name in the session, never given twice."""
    role: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    visibility: Annotated[str, VOLATILE] = "public"
    """``public``, or ``private``: shown to whoever asks for private parts only."""
    tokens: int
    """An estimate: bytes by four."""
    message: Annotated[Free, BLOB]
    """What models are given: role, content, calls of tools."""
    private: Annotated[Free | None, BLOB] = None
    """Reasoning, and what else a provider sent that is no part of what it said."""
    counted: int | None = None


class SessionTrimmed(PlainData):
    """Only the last messages are kept."""

    session: str
    kept: int
    dropped: int
    counted: int | None = None


class SessionCompacted(PlainData):
    """Older messages were replaced by a summary."""

    session: str
    id: str
    """The name of the summary, which is a message from here on."""
    strategy: str
    """``truncate``, ``observation_mask``, ``llm`` or ``custom``."""
    visibility: Annotated[str, VOLATILE] = "public"
    """``private`` if something private was summarised."""
    reason: str
    """``asked``, ``threshold`` or ``hard_limit``."""
    pinned: int
    """How many messages at the beginning stay as they are: those of the system."""
    archived: int
    """How many were replaced."""
    kept: int
    """How many there are now, with the summary."""
    tokens_before: int
    tokens_after: int
    tokens: int
    """Of the summary."""
    shortened: dict[str, int] = {}
    """Ids of results of tools that were cut → their tokens now."""
    summary: Annotated[Free, BLOB]
    """The summary, as a message."""
    replaced: Annotated[Free, BLOB] = {}
    """Id → the message that stands for one that was cut."""
    archive: Annotated[list[Free], BLOB]
    """The messages that were replaced or cut, whole, in their order."""
    counted: int | None = None


class SessionCompactionDeclined(PlainData):
    """A compaction would have made the session no shorter, so it was not done."""

    session: str
    strategy: str
    reason: str
    """``asked`` or ``threshold``."""
    tokens_before: int
    tokens_after: int
    """What it would have had."""
    counted: int | None = None


class SessionReset(PlainData):
    """The session begins anew; its id, and what it was, stay."""

    session: str
    dropped: int
    counted: int | None = None


class SessionRestored(PlainData):
    """The session is again what it was after an earlier event."""

    session: str
    at: int
    """After so many of its events."""
    kept: int
    counted: int | None = None


class SessionStateChanged(PlainData):
    """The session was archived, given up, or taken up again."""

    session: str
    state: str
    """``active``, ``archived`` or ``abandoned``; the latter two take no messages."""
    reason: Annotated[str, LARGE] = ""
    counted: int | None = None


class SessionClaimed(PlainData):
    """A run writes the session from here on, until it ends."""

    session: str
    run: str
    counted: int | None = None


class SessionReleased(PlainData):
    """The run that had the session is done with it."""

    session: str
    run: str
    included: int
    """How many events of the run's part belong to the session; what the run adds later,
    once it was resumed, is a fork."""
    counted: int | None = None


class SessionJoined(PlainData):
    """A run begins its part of a session."""

    session: str
    position: int
    """How many events of the session there were."""


def session_name(name: str) -> str:
    """Return the *name* of a session in NFC, so that what looks alike is one session."""
    return unicodedata.normalize("NFC", name)


def session_series(session: str) -> str:
    """Return the series of the events of *session*."""
    return series_key("session", session_name(session))


def part_series(session: str, run: str) -> str:
    """Return the series of what *run* wrote to *session*."""
    return series_key("session", f"{session_name(session)}@{run}")


def children_series(session: str) -> str:
    """Return the series of the events that forked *session*."""
    return series_key("session.forks", session_name(session))


def _series(data: Data) -> tuple[str, ...]:
    return (
        () if data.get("counted") is None else (session_series(str(data["session"])),)
    )


def _opened(data: Data) -> tuple[str, ...]:
    source = data.get("source")
    forked = () if source is None else (children_series(str(source)),)
    return (*_series(data), *forked)


def _counts(data: Data) -> Mapping[str, int]:
    counted = data.get("counted")
    if not isinstance(counted, int):
        return {}
    counts = {session_series(str(data["session"])): counted}
    included = data.get("included")
    if isinstance(included, int):
        counts[part_series(str(data["session"]), str(data["run"]))] = included
    return counts


class SessionFact(dict[str, object]):
    """The data of a fact that sessions state: the types below take no other."""

    __slots__ = ()


_OWN = f"{SessionFact.__module__}:{SessionFact.__qualname__}"

TYPES = (
    EventType(
        "session.opened", SessionOpened, series=_opened, counts=_counts, own=_OWN
    ),
    *(
        EventType(f"session.{name}", model, series=_series, counts=_counts, own=_OWN)
        for name, model in (
            ("message_appended", SessionMessageAppended),
            ("trimmed", SessionTrimmed),
            ("compacted", SessionCompacted),
            ("compaction_declined", SessionCompactionDeclined),
            ("reset", SessionReset),
            ("restored", SessionRestored),
            ("state_changed", SessionStateChanged),
            ("claimed", SessionClaimed),
            ("released", SessionReleased),
        )
    ),
    EventType("session.joined", SessionJoined, own=_OWN),
)

KINDS = (
    # To claim a session twice is to claim it once: a run knows its own claim.
    EffectKind(
        "session_claim",
        source="data",
        magnitude="low",
        on_doubt="repeat",
        fault="muniment_plugins.workflow.sessions.claims:claim_fault",
    ),
    # A loop was refused a session that another one had: a replay refuses it again.
    EffectKind("session_loan", source="data", magnitude="low", on_doubt="repeat"),
    # What it gave is judged where it is read: a text, or a refusal.
    EffectKind("compaction", source="data", magnitude="low", on_doubt="repeat"),
)

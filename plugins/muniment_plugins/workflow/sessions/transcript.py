"""A transcript: which messages a session has, folded from its events.

    transcript = Transcript("desk")
    transcript.apply("session.opened", {...}, seq=3)
    [one.id for one in transcript.entries]      ["s1", "m7", "m8"]

Rules:

- The fold reads no contents: an erasure changes no transcript but its texts.
- An id is given once in the life of a session. A fork has the ids of its source.
- A moment of a session is the number of its events up to then, its *position*; any
  moment can be folded again, and restored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muniment.errors import UsageError

__all__ = [
    "ACTIVE",
    "CLOSED_STATES",
    "Transcript",
    "TranscriptEntry",
    "first_ones",
    "require_keep",
]

ACTIVE = "active"
CLOSED_STATES = ("archived", "abandoned")
"""The states in which a session takes no messages."""

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A message of a transcript, or the summary that stands for several."""

    id: str
    role: str
    visibility: str
    tokens: int
    seq: int | None
    """The event that has it; None if it is not written yet."""
    is_summary: bool = False
    shortened_by: int | None = None
    """The event that has a shorter form of it."""


@dataclass(slots=True)
class Transcript:
    """What a session is at a moment."""

    session: str
    entries: tuple[TranscriptEntry, ...] = ()
    state: str = ACTIVE
    number: int = 0
    """How many ids were given."""
    position: int = 0
    source: str | None = None
    at: int | None = None
    """The position of its source at which it was forked."""
    keep_first: int | None = None
    opened: bool = False
    compactions: int = 0
    tried_at: int = 0
    """The tokens after the last compaction, or at the last one that was not worth it."""

    @property
    def tokens(self) -> int:
        """The estimated tokens of what models would be given."""
        return sum(one.tokens for one in self.entries)

    @property
    def takes_messages(self) -> bool:
        """Whether it is neither archived nor given up."""
        return self.state not in CLOSED_STATES

    def copy(self) -> Transcript:
        """Return one that goes on by itself."""
        return replace(self)

    def next_id(self, prefix: str = "m") -> str:
        """Return the id that the next message gets."""
        return f"{prefix}{self.number + 1}"

    def begin_as(self, source: Transcript, keep_first: int | None) -> None:
        """Begin with what *source* is, or with its first messages."""
        kept = source.entries if keep_first is None else source.entries[:keep_first]
        self.entries, self.number = kept, source.number
        self.source, self.at = source.session, source.position
        self.keep_first, self.state = keep_first, "forked"
        self.tried_at = source.tried_at
        self._forget()

    def become(self, earlier: Transcript) -> None:
        """Have the messages of an *earlier* moment; ids given since are not given again."""
        self.entries = earlier.entries
        self._forget()

    def apply(self, kind: str, data: Data, seq: int | None) -> None:
        """Fold one event, except for what needs another moment or another session."""
        self.position += 1
        name = kind.removeprefix("session.")
        if name == "opened":
            self.opened = True
        elif name == "message_appended":
            self._append(data, seq)
        elif name == "trimmed":
            kept = int(data["kept"])
            self.entries = self.entries[-kept:] if kept else ()
            self._forget()
        elif name == "reset":
            self.entries = ()
            self._forget()
        elif name == "compacted":
            self._compact(data, seq)
            self.tried_at = self.tokens
        elif name == "compaction_declined":
            self.tried_at = self.tokens
        elif name == "state_changed":
            self.state = str(data["state"])

    def _forget(self) -> None:
        """Forget a compaction that was tried when there was more to compact."""
        self.tried_at = min(self.tried_at, self.tokens)

    def _append(self, data: Data, seq: int | None) -> None:
        self.number += 1
        if self.state == "forked":
            self.state = ACTIVE
        made = TranscriptEntry(
            str(data["id"]),
            str(data["role"]),
            str(data["visibility"]),
            int(data["tokens"]),
            seq,
        )
        self.entries = (*self.entries, made)

    def _compact(self, data: Data, seq: int | None) -> None:
        pinned, archived = int(data["pinned"]), int(data["archived"])
        shortened: Mapping[str, int] = data.get("shortened") or {}
        rest = tuple(
            replace(one, tokens=shortened[one.id], shortened_by=seq)
            if one.id in shortened
            else one
            for one in self.entries[pinned + archived :]
        )
        summary: tuple[TranscriptEntry, ...] = ()
        if archived:
            self.number += 1
            summary = (
                TranscriptEntry(
                    str(data["id"]),
                    "user",
                    str(data.get("visibility", "public")),
                    int(data["tokens"]),
                    seq,
                    True,
                ),
            )
        self.entries = (*self.entries[:pinned], *summary, *rest)
        self.compactions += 1


def first_ones(entries: Sequence[TranscriptEntry], keep_first: int) -> int:
    """Return how many *entries* are the first ones, with the results of their calls."""
    kept = min(keep_first, len(entries))
    while 0 < kept < len(entries) and entries[kept].role == "tool":
        kept += 1
    return kept


def require_keep(value: object, name: str) -> int:
    """Return *value*, if so many messages can be kept.

    Raises:
        UsageError: it is no number, or a negative one.

    """
    if type(value) is not int or value < 0:
        raise UsageError(
            f"{value!r:.80} messages cannot be kept",
            rule="session/keep",
            place=name,
            remedy="a whole number, 0 or more",
        )
    return value

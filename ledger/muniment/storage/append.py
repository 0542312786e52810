"""The log itself: append, head, checkpoints. The only writer.

Rules:

- One transaction reads the head and inserts (``BEGIN IMMEDIATE``): two writers wait for
  each other and never fork. Everything is validated before it begins, and a failed one
  leaves nothing behind.
- An append returns after a durable commit (``synchronous=FULL``). Then the head memory
  in the trust home moves forward. If an append finds the memory ahead of the log, the
  file is an older copy and must not grow. If the memory cannot be moved, the next
  append or the close says so: the events are written, and the writer must not repeat
  them.
- ``time`` is ``max(now, time of the head)``, taken inside the transaction.
- An event's place in its series is read and written in that transaction, too, and what
  it says of other series is compared there.
- A checkpoint is signed over committed events only, under the append lock, never for a
  size below an earlier one: on demand, at the end of a run, at close, and at the latest
  every 1,000 events or 10 seconds of appending. One that is due is made before the
  next append, so that its failure never follows an event that was written.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from muniment.errors import (
    AppendRefused,
    KeyRefused,
    MunimentError,
    RunFenced,
    WrongError,
)
from muniment.formats.checkpoint import Checkpoint, origin, sign_checkpoint
from muniment.formats.dsse import Signer
from muniment.formats.lifecycle import ENDS, RESUMED
from muniment.formats.statement import Event
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import Keyring
from muniment.programs.import_guard import refuse_importing
from muniment.storage.blobs import Blobs
from muniment.storage.connections import Database, Driver
from muniment.storage.lookup import keyring_of, last_of_series
from muniment.storage.sealing import Batch, Draft, build
from muniment.storage.tail import Tail, newest_note, tail_of
from muniment.storage.transactions import Writer
from muniment.trust.head_memory import HeadMemory

__all__ = ["Fence", "Store"]

CHECKPOINT_EVENTS = 1000
CHECKPOINT_SECONDS = 10.0
CLOSING_SECONDS = 0.2
"""How long a closing writer waits for readers, to leave an empty write-ahead log."""

_INSERT = (
    "INSERT INTO event (seq, type, run, payload, signature, key, hash) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_SUBJECT = "INSERT INTO subject (seq, digest) VALUES (?, ?)"
_INSERT_TILE = "INSERT INTO tile (level, idx, hash) VALUES (?, ?, ?)"
_INSERT_CHECKPOINT = "INSERT INTO checkpoint (size, note) VALUES (?, ?)"

_NEWER_GENERATION = (
    "SELECT seq, run FROM event INDEXED BY event_by_type "  # noqa: S608 - names of ours
    f"WHERE type IN {(RESUMED, *ENDS)!r} "
    "AND seq > ? AND run IN ({}) LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Fence:
    """A run and its parents, and the point since which its owner owns it."""

    runs: tuple[str, ...]
    """The run itself, then its parent, and so on up to the root."""
    since: int
    """The last event up to which nobody else resumed or ended any of them."""


class Store:
    """Appends to the ledger *ledger_id* in *database*, signing with *writer*."""

    def __init__(
        self,
        database: Database,
        ledger_id: str,
        memory: HeadMemory | None,
        *,
        writer: Signer | None = None,
        checkpointer: Signer | None = None,
        blobs: Path | None = None,
    ) -> None:
        self.database = database
        self.ledger_id = ledger_id
        self.blobs = Blobs(database.path, blobs)
        self.published: Callable[[bytes], None] = _nothing
        """Called with each new checkpoint note, after its commit."""
        self.step: Callable[[str], None] = _nothing
        """Called with the name of each step of an append; crash tests kill there."""
        self._writer = writer
        self._checkpointer = checkpointer
        self._memory = memory
        self._tail = Tail()
        self._keyring: Keyring | None = None
        self._line = Writer(database)
        self._checkpointed = (0, time.monotonic())
        self._owed = False
        """Whether the head memory could not be moved to the tail."""

    @property
    def place(self) -> str:
        """The path, for messages."""
        return str(self.database.path)

    @property
    def writable(self) -> bool:
        """Whether there is a key to write with."""
        return self.writer is not None

    @property
    def writer(self) -> Signer | None:
        """Signs events here; None if nothing can be written."""
        return None if self.database.readonly else self._writer

    @property
    def checkpointer(self) -> Signer | None:
        """Signs checkpoints here; None if none can be signed."""
        return None if self.database.readonly else self._checkpointer

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        late: Callable[[], Sequence[Draft]] | None = None,
        fence: Fence | None = None,
        also: Callable[[Driver], None] | None = None,
        signer: Signer | None = None,
    ) -> list[Event]:
        """Write *drafts* in one commit and return their events; durable on return.

        Args:
            drafts: at least one, unless *late* makes it.
            late: makes further ones, once nobody else can write.
            fence: refuses if a newer generation took the run over.
            also: further writes that belong to the same commit.
            signer: signs instead of the writer (a root, for key events).

        Raises:
            AppendRefused: read-only, an older copy, or too large.
            KeyRefused: the signer may not sign such events.
            StoreError: the database is locked, full, read-only or corrupt.

        """
        refuse_importing()
        with self._line.lock:
            sys.audit("muniment.append", self.place)
            self._catch_up()
            if self._checkpoint_due():
                self.checkpoint()
            with self._line.transaction() as driver:
                tail = self._current_tail(driver)
                if fence is not None:
                    _refuse_fenced(driver, fence)
                if late is not None:
                    drafts = [*drafts, *late()]
                chosen = self._signer(drafts, signer)
                shares = {id(d.shared): d.shared for d in drafts if d.shared}
                if shares:
                    self.blobs.unshare(driver, shares.values())
                keys = [key for one in drafts for key in one.prepared.series]
                keys += [key for one in drafts for key, _ in one.prepared.counts]
                last = last_of_series(driver.execute, keys) if keys else None
                batch = build(drafts, tail, chosen, self.ledger_id, last)
                keyring = self._keyring_after(batch)
                self.step("signed")
                with self.blobs.written(driver, batch.staged):
                    self.step("contents written")
                    _insert(driver, batch)
                    if also is not None:
                        also(driver)
                    self.step("inserted")
            self.step("committed")
            self._tail, self._keyring = tail, keyring
            batch.staged.settle()
            self._remember()
            self.step("remembered")
            return batch.events

    def checkpoint(self) -> bytes | None:
        """Sign the tree of all committed events; None without a checkpoint key.

        Returns the newest note unchanged if nothing was appended since.
        """
        if self._checkpointer is None or self.database.readonly:
            return self.last_checkpoint()[1]
        with self._line.lock:
            with self._line.transaction() as driver:
                tail = self._current_tail(driver)
                size, newest = newest_note(driver.execute)
                if size == tail.size:
                    self._checkpointed = (tail.size, time.monotonic())
                    return newest
                if not self._may_checkpoint(tail.size):
                    return newest
                head = Checkpoint(
                    origin(self.ledger_id), tail.size, tail.frontier.root()
                )
                note = sign_checkpoint(head, self._checkpointer)
                driver.execute(_INSERT_CHECKPOINT, (tail.size, note))
                self.step("checkpoint signed")
            self.step("checkpoint committed")
            self._tail = tail
            self._checkpointed = (tail.size, time.monotonic())
            if self._memory is not None:
                self._memory.sync()
            self.published(note)
            self.step("checkpoint published")
            return note

    def read_blob(self, ref: str, size: int | None = None) -> bytes:
        """Return the content behind the commitment *ref*; see `Blobs.read`."""
        with self.database.reading() as driver:
            return self.blobs.read(driver.execute, ref, size)

    @cached_property
    def event_format(self) -> int:
        """The version of ``event`` that the genesis states; it never changes."""
        return self.keyring().event_format

    def keyring(self) -> Keyring:
        """Return the keys of the ledger, as its key events say."""
        with self.database.reading() as driver:
            return keyring_of(driver.execute, self.ledger_id, self.place)

    def last_checkpoint(self) -> tuple[int, bytes | None]:
        """Return the size and note of the newest checkpoint in the file."""
        with self.database.reading() as driver:
            return newest_note(driver.execute)

    def empty(self, refs: Sequence[str]) -> None:
        """Empty contents whose erasure the log states already, or cannot state."""
        with self._line.lock, self._line.transaction() as driver:
            self.blobs.empty(driver, refs)

    def truncate_wal(self, seconds: float) -> bool:
        """Empty the write-ahead log; see `Writer.truncate_wal`."""
        return self._line.truncate_wal(seconds)

    def close(self) -> None:
        """Sign a last checkpoint if there are new events, and close everything."""
        with self._line.lock:
            try:
                if self._line.wrote:
                    self._catch_up()
                    if self._tail.size > self._checkpointed[0]:
                        self.checkpoint()
                    self.truncate_wal(CLOSING_SECONDS)
            finally:
                self._line.close()
                if self._memory is not None:
                    self._memory.close()

    def _signer(self, drafts: Sequence[Draft], signer: Signer | None) -> Signer:
        chosen = signer or self._writer
        if chosen is None:
            raise KeyRefused(
                "the ledger was opened without a signing key",
                rule="key/none",
                place=self.place,
                remedy="`muniment keys list` shows whose keys it has; "
                "set MUNIMENT_KEY or use the trust home that made it",
            )
        raw = chosen.public.raw
        for kind in {draft.prepared.type.name for draft in drafts}:
            if self._keyring is not None and not self._keyring.may_sign(raw, kind):
                raise KeyRefused(
                    f"{chosen.public.keyid} may not sign {kind} events here",
                    rule="key/role",
                    place=self.place,
                    remedy="`muniment keys enrol` by a root, or sign with another key",
                )
        return chosen

    def require_owned(self, fence: Fence) -> None:
        """Raise `RunFenced` if a newer generation took the run over."""
        with self.database.reading() as driver:
            _refuse_fenced(driver, fence)

    def _current_tail(self, driver: Driver) -> Tail:
        """Return a fresh copy of the log's tail, refusing an older copy of the file."""
        tail = tail_of(driver.execute, self._tail)
        self._refuse_older_copy(driver, tail)
        if tail is not self._tail:
            self._keyring = keyring_of(driver.execute, self.ledger_id, self.place)
            self._tail = tail
        return tail.copy()

    def _refuse_older_copy(self, driver: Driver, tail: Tail) -> None:
        remembered = None if self._memory is None else self._memory.read()
        if remembered is None or (remembered.size, remembered.hash) == (
            tail.size,
            tail.hash,
        ):
            return
        if remembered.size > tail.size:
            behind = remembered.size - tail.size
            raise AppendRefused(
                f"this is an older copy, {behind} event{'s' * (behind > 1)} behind "
                "what the trust home remembers",
                rule="head/rolled-back",
                place=self.place,
                remedy="restore the newest copy, or continue in a successor: "
                f"`muniment init DIR --continues {self.ledger_id} --reason R`",
            )
        row = driver.execute(
            "SELECT hash FROM event WHERE seq = ?", (remembered.size - 1,)
        ).fetchone()
        if remembered.size and (row is None or row[0] != remembered.hash):
            raise WrongError(
                "the history differs from the one that the trust home remembers",
                rule="head/forked",
                seq=remembered.size - 1,
                place=self.place,
                remedy="run `muniment verify`; do not write to this file",
            )

    def _keyring_after(self, batch: Batch) -> Keyring | None:
        """Return the keys after *batch*; refuse a key event that breaks a rule."""
        changes = [event for event in batch.events if event.type.startswith("key.")]
        if not changes or self._keyring is None:
            return self._keyring
        keyring = self._keyring.copy()
        for event in changes:
            keyring.apply(event.seq, event.type, event.raw, PublicKey(event.key))
        return keyring

    def _remember(self) -> None:
        """Move the head memory; its failure is not one of the events just written."""
        try:
            self._advance()
        except MunimentError:
            self._owed = True  # and raised before the next event, or at close

    def _catch_up(self) -> None:
        if self._owed:
            self._advance()
            self._owed = False

    def _advance(self) -> None:
        if self._memory is not None:
            self._memory.advance(self._tail.size, self._tail.hash)

    def _may_checkpoint(self, size: int) -> bool:
        """Tell whether the key here may still sign: it may have been rotated away."""
        return (
            self._checkpointer is not None
            and self._keyring is not None
            and self._checkpointer.public in self._keyring.checkpoint_keys_at(size)
        )

    def _checkpoint_due(self) -> bool:
        size, moment = self._checkpointed
        return self._checkpointer is not None and (
            self._tail.size - size >= CHECKPOINT_EVENTS
            or time.monotonic() - moment >= CHECKPOINT_SECONDS
        )


def _insert(driver: Driver, batch: Batch) -> None:
    driver.executemany(_INSERT, batch.rows)
    if batch.subjects:
        driver.executemany(_INSERT_SUBJECT, batch.subjects)
    if batch.tiles:
        driver.executemany(_INSERT_TILE, batch.tiles)


def _refuse_fenced(driver: Driver, fence: Fence) -> None:
    query = _NEWER_GENERATION.format(", ".join("?" * len(fence.runs)))
    row = driver.execute(query, (fence.since, *fence.runs)).fetchone()
    if row is not None:
        raise RunFenced(
            "the run was resumed or canceled by somebody else, or has ended; "
            "this owner may not write any more",
            rule="run/fenced",
            place=f"run {row[1]}, event {row[0]}",
            remedy="let the newer owner finish, if there is one",
        )


def _nothing(_: object) -> None:
    """Observe nothing."""

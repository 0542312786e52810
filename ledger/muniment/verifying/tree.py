"""The tree over the log: tiles, checkpoints, and what other places remember of it.

Rules:

- Each complete subtree of 256^level events has its tile with the right root, and there
  is no other tile.
- Each checkpoint is signed by a key that held the role at its size, of this ledger, of
  the size that its row says, and of the root that the log has there.
- A *mark* is what somebody else remembers: a leaf hash or a checkpoint at a size. It is
  compared when the log has that size, and left over when the log is shorter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from muniment.checkpoint import Checkpoint, origin, read_checkpoint
from muniment.errors import WrongError
from muniment.keyring import Keyring
from muniment.merkle import Frontier
from muniment.verifying.report import Findings
from muniment.verifying.snapshot import Snapshot

__all__ = ["Mark", "Tree"]

_END = 1 << 63
_ASK = "compare with a copy or an anchor; trust nothing before it"
_FORK = "ask who holds the other history, and compare the two"


@dataclass(slots=True)
class Mark:
    """What is remembered of the log at a size."""

    size: int
    source: str
    """Who remembers, in words."""
    leaf: bytes | None = None
    """The leaf hash of the last event then."""
    note: bytes | None = None
    """A signed checkpoint."""
    matched: bool = field(default=False)


class Tree:
    """Grows with the event pass, and compares at every size."""

    __slots__ = (
        "_findings",
        "_lacking",
        "_ledger",
        "_marks",
        "_note",
        "_notes",
        "_snapshot",
        "_sound",
        "_stood",
        "broken",
        "frontier",
        "last_checkpoint",
        "next",
    )

    def __init__(
        self, snapshot: Snapshot, findings: Findings, ledger: str, marks: list[Mark]
    ) -> None:
        self._snapshot = snapshot
        self._findings = findings
        self._ledger = ledger
        self._marks = sorted(marks, key=lambda mark: -mark.size)
        self.frontier = Frontier()
        self.broken = False
        """Rows are missing or out of place: no root can be told from here on."""
        self.last_checkpoint = 0
        self._sound = b""
        """The newest checkpoint of the file that was found to hold."""
        self._notes = snapshot.connection.execute(
            "SELECT size, CASE typeof(note) WHEN 'blob' THEN note END "
            "FROM checkpoint ORDER BY size"
        )
        self._note: Any = None
        self._stood = 0
        """The size of the last checkpoint row that was passed."""
        self._lacking: list[Mark] = []
        self.next = _END
        self._advance(0)

    def _advance(self, size: int) -> None:
        """Move to the next checkpoint or mark above *size*."""
        self._note = self._notes.fetchone()
        while self._note is not None and not self._is_ahead(size):
            self._note = self._notes.fetchone()
        self._aim()

    def _is_ahead(self, size: int) -> bool:
        if isinstance(self._note[0], int) and self._note[0] > size:
            return True
        what = f"a checkpoint of size {self._note[0]}"
        self._bad("checkpoint", "checkpoint/size", what, None, "checkpoint")
        return False

    def _aim(self) -> None:
        note = _END if self._note is None else self._note[0]
        self.next = min(note, self._marks[-1].size) if self._marks else note

    def tile(self, level: int, index: int, root: bytes) -> None:
        """Compare one complete subtree with its row."""
        if self.broken:
            return
        seq = self.frontier.size - 1
        place = f"event {seq} tile {level}/{index}"
        stored = self._snapshot.value(
            "SELECT CASE typeof(hash) WHEN 'blob' THEN hash ELSE '' END "
            "FROM tile WHERE level = ? AND idx = ?",
            level,
            index,
        )
        if stored is None:
            self._bad("missing", "tile/missing", "the tile is missing", seq, place)
        elif stored != root:
            what = "the tile is not the root of its events"
            self._bad("edited", "tile/hash", what, seq, place)

    def compare(self, keyring: Keyring | None, leaf: bytes) -> None:
        """Compare the checkpoint and the marks of the present size."""
        size = self.frontier.size
        if self._note is not None and self._note[0] == size:
            self._stood = size
            self._check_note(size, keyring)
            self._advance(size)
        while self._marks and self._marks[-1].size <= size:
            self._check_mark(self._marks.pop(), keyring, leaf)
        self._aim()

    def _check_note(self, size: int, keyring: Keyring | None) -> None:
        note, place = self._note[1], f"checkpoint {size}"
        if keyring is None:
            return  # there is a finding about the genesis already
        if not isinstance(note, bytes):
            what = "the note is not a blob"
            self._bad("checkpoint", "checkpoint/column", what, size - 1, place)
            return
        checkpoint = self._read(note, size, keyring, place)
        if checkpoint is None:
            return
        if checkpoint.size != size:
            what = f"the note is of size {checkpoint.size}"
            self._bad("checkpoint", "checkpoint/size", what, size - 1, place)
        elif self.broken:
            return
        elif checkpoint.root != self.frontier.root():
            what = "the root is not that of the events"
            self._bad("checkpoint", "checkpoint/root", what, size - 1, place)
        else:
            self.last_checkpoint = size
            self._sound = note

    def _read(
        self, note: bytes, size: int, keyring: Keyring, place: str
    ) -> Checkpoint | None:
        publics = keyring.checkpoint_keys_at(size)
        try:
            return read_checkpoint(note, origin(self._ledger), publics)
        except WrongError as error:
            self._findings.add_error("checkpoint", error, size - 1, place)
            return None

    def _check_mark(self, mark: Mark, keyring: Keyring | None, leaf: bytes) -> None:
        if keyring is None:
            return
        if mark.leaf is not None and not self.broken:
            mark.matched = mark.leaf == leaf
            if not mark.matched:
                self._fork(mark, "head/forked", "another event stood here")
        elif mark.note is not None and mark.note == self._sound:
            mark.matched = True  # byte for byte the checkpoint of the file
        elif mark.note is not None:
            publics = keyring.checkpoint_keys_at(mark.size)
            try:
                anchor = read_checkpoint(mark.note, origin(self._ledger), publics)
            except WrongError as error:
                kind = "foreign" if error.rule == "checkpoint/origin" else "forked"
                place = f"{mark.source}, size {mark.size}"
                self._findings.add_error(kind, error, mark.size - 1, place)
                return
            mark.matched = not self.broken and anchor.root == self.frontier.root()
            if mark.matched and self._stood != mark.size:
                self._lacking.append(mark)
            if not self.broken and not mark.matched:
                self._fork(mark, "anchor/root", "another root was signed")

    def _fork(self, mark: Mark, rule: str, message: str) -> None:
        place = f"event {mark.size - 1}, {mark.source}"
        self._findings.add(
            "forked", rule, message, seq=mark.size - 1, place=place, remedy=_FORK
        )

    def finish(self) -> None:
        """Say which tiles and checkpoints are too many, and which are missing.

        A checkpoint is in the file before it is anchored and before the log goes on; at
        the very end of a copy it may not have been there yet.
        """
        size = self.frontier.size
        for mark in self._lacking:
            if mark.size < size and not self.broken:
                what = f"{mark.source} has a checkpoint here, the file has not"
                place = f"checkpoint {mark.size}"
                self._bad("missing", "checkpoint/missing", what, mark.size - 1, place)
        while self._note is not None:
            number = self._note[0] if isinstance(self._note[0], int) else size
            what = f"the log ends at {size}, before a checkpoint of size {number}"
            place = f"checkpoint {self._note[0]}"
            self._bad("truncated", "checkpoint/beyond", what, size, place)
            self._note = self._notes.fetchone()
        if not self.broken and self._snapshot.count("tile") > self._present_tiles():
            self._find_extra_tiles(size)

    def _present_tiles(self) -> int:
        count, tiles = 0, self.frontier.size >> 8
        while tiles:
            count, tiles = count + tiles, tiles >> 8
        return count

    def _find_extra_tiles(self, size: int) -> None:
        rows = self._snapshot.connection.execute(
            "SELECT CASE typeof(level) WHEN 'integer' THEN level END, "
            "CASE typeof(idx) WHEN 'integer' THEN idx END FROM tile"
        )
        for level, index in rows:
            known = isinstance(level, int) and isinstance(index, int)
            if known and 1 <= level <= 7 and 0 <= index < size >> (8 * level):  # noqa: PLR2004 - 256^8 is beyond 2^63
                continue
            place = f"tile {level}/{index}"
            what = "the log has no such tile"
            self._bad("inserted", "tile/extra", what, None, place)

    def _bad(
        self, kind: str, rule: str, message: str, seq: int | None, place: str
    ) -> None:
        self._findings.add(kind, rule, message, seq=seq, place=place, remedy=_ASK)

"""The tree over the log: tiles, checkpoints, and what others remember of it.

Rules:

- Each complete subtree of 256^level events has its tile with the right root, and there
  is no other tile.
- Each checkpoint is signed by a key that held the role at its size; it names this
  ledger, the size of its row, and the root that the log has there.
- After missing rows no root can be computed. Checkpoints and tiles from there on count
  as not compared; leaf hashes are still compared.
- A *mark* is what somebody else remembers: a leaf hash, a root or a checkpoint at a
  size. It is compared when the log has that size, and left over if the log is shorter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from muniment.errors import WrongError
from muniment.formats.checkpoint import (
    Checkpoint,
    origin,
    read_checkpoint,
    read_vouched,
)
from muniment.formats.merkle import Frontier
from muniment.keys.keyring import Keyring
from muniment.verification.report import Findings
from muniment.verification.snapshot import Snapshot

__all__ = ["RootMark", "Tree"]

_END = 1 << 63
_SIGNED = "\n— ".encode()
_ASK = "compare with a copy or an anchor; trust nothing before it"
_FORK = "ask who holds the other history, and compare the two"


@dataclass(slots=True)
class RootMark:
    """Something remembered of the log at one size."""

    size: int
    source: str
    """The party that remembers, in words."""
    leaf: bytes | None = None
    """The leaf hash of the last event then."""
    note: bytes | None = None
    """A signed checkpoint."""
    root: bytes | None = None
    """The root of the tree, as a verification saw it."""
    matched: bool = field(default=False)
    vouched: bool = field(default=False)
    """Whether a key of the ledger was found to have signed the note."""


class Tree:
    """Grows with the event pass, and is compared at every size."""

    __slots__ = (
        "_cosigned",
        "_differing",
        "_findings",
        "_lacking",
        "_ledger",
        "_marks",
        "_note",
        "_notes",
        "_snapshot",
        "_sound",
        "_stood",
        "checkpoints",
        "frontier",
        "last_checkpoint",
        "lost",
        "next",
        "sound",
        "tiles",
    )

    def __init__(
        self, snapshot: Snapshot, findings: Findings, ledger: str, marks: list[RootMark]
    ) -> None:
        self._snapshot = snapshot
        self._findings = findings
        self._ledger = ledger
        self._marks = sorted(marks, key=lambda mark: -mark.size)
        self.frontier = Frontier()
        self.lost = False
        """Whether rows are missing, so that no root can be computed from here on."""
        self.checkpoints = self.sound = self.tiles = 0
        """How many checkpoints there are, how many hold, and how many tiles do."""
        self._cosigned = self._differing = 0
        """How many notes have lines by others, or other lines than their anchors."""
        self.last_checkpoint = 0
        self._sound = b""
        """The newest checkpoint of the file that holds."""
        self._notes = snapshot.connection.execute(
            "SELECT size, CASE WHEN typeof(note) = 'blob' AND length(note) <= 65536 "
            "THEN note END FROM checkpoint ORDER BY size"
        )
        self._note: Any = None
        self._stood = 0
        """The size of the last checkpoint row that was passed."""
        self._lacking: list[RootMark] = []
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

    def lose(self, size: int) -> None:
        """Record that events are missing after the first *size*."""
        if not self.lost:
            self.lost = True
            note = f"no roots and tiles were compared from event {size} on"
            self._findings.notes.append(f"{note}: events are missing there")

    def tile(self, seq: int, level: int, index: int, root: bytes) -> None:
        """Compare one complete subtree, which ends with the event *seq*."""
        if self.lost:
            return
        place = f"event {seq} tile {level}/{index}"
        stored = self._snapshot.value(
            "SELECT CASE WHEN typeof(hash) = 'blob' AND length(hash) = 32 "
            "THEN hash ELSE '' END "
            "FROM tile WHERE level = ? AND idx = ?",
            level,
            index,
        )
        if stored is None:
            self._bad("missing", "tile/missing", "the tile is missing", seq, place)
        elif stored != root:
            what = "the tile is not the root of its events"
            self._bad("edited", "tile/hash", what, seq, place)
        else:
            self.tiles += 1

    def compare(self, size: int, keyring: Keyring | None, leaf: bytes) -> None:
        """Compare the checkpoints and the marks up to *size*; *leaf* is the last."""
        while self._note is not None and self._note[0] <= size:
            self._stood = self._note[0]
            self._check_note(self._note[0], keyring)
            self._advance(self._note[0])
        while self._marks and self._marks[-1].size <= size:
            self._check_mark(self._marks.pop(), size, keyring, leaf)
        self._aim()

    def _check_note(self, size: int, keyring: Keyring | None) -> None:
        note, place = self._note[1], f"checkpoint {size}"
        self.checkpoints += 1
        if keyring is None:
            return  # the genesis has a finding already
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
        elif self.lost:
            return
        elif checkpoint.root != self.frontier.root():
            what = "the root is not that of the events"
            self._bad("checkpoint", "checkpoint/root", what, size - 1, place)
        else:
            self.sound += 1
            self._cosigned += note.count(_SIGNED) > 1
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

    def _check_mark(
        self, mark: RootMark, size: int, keyring: Keyring | None, leaf: bytes
    ) -> None:
        if mark.note is not None:
            if keyring is not None:  # else the genesis has a finding
                self._check_anchor(mark, mark.note, keyring)
        elif mark.size == size and not (self.lost and mark.leaf is None):
            root = mark.root is not None and mark.root == self.frontier.root()
            mark.matched = root or (mark.leaf is not None and mark.leaf == leaf)
            if not mark.matched:
                what = "event stood" if mark.root is None else "tree was verified"
                self._fork(mark, "head/forked", f"another {what} here")

    def _check_anchor(self, mark: RootMark, note: bytes, keyring: Keyring) -> None:
        if note == self._sound:
            # Byte for byte the checkpoint of the file.
            mark.matched = mark.vouched = True
            return
        try:
            anchor = read_vouched(note, origin(self._ledger), keyring)[0]
        except WrongError:
            return  # it does not count; `Memory.settle` says so
        mark.vouched = True
        mark.matched = not self.lost and anchor.root == self.frontier.root()
        self._differing += mark.matched and self._stood == mark.size
        if mark.matched and self._stood != mark.size:
            self._lacking.append(mark)
        if not self.lost and not mark.matched:
            self._fork(mark, "anchor/root", "another root was signed")

    def _fork(self, mark: RootMark, rule: str, message: str) -> None:
        place = f"event {mark.size - 1}, {mark.source}"
        self._findings.add(
            "forked", rule, message, seq=mark.size - 1, place=place, remedy=_FORK
        )

    def finish(self, size: int) -> None:
        """Report surplus and missing tiles and checkpoints.

        A checkpoint is in the file before it is anchored and before the log continues;
        at the very end of a copy it may not have been there yet.
        """
        for mark in self._lacking:
            if mark.size < size:
                what = f"{mark.source} has a checkpoint here, the file has not"
                place = f"checkpoint {mark.size}"
                self._bad("missing", "checkpoint/missing", what, mark.size - 1, place)
        if self._cosigned:
            note = f"{self._cosigned} checkpoints have lines of other signers, unjudged"
            self._findings.notes.append(note)
        if self._differing:
            note = f"{self._differing} checkpoints have other lines than their anchors"
            self._findings.notes.append(note)
        while self._note is not None:
            number = self._note[0] if isinstance(self._note[0], int) else size
            what = f"the log ends at {size}, before a checkpoint of size {number}"
            place = f"checkpoint {self._note[0]}"
            self.checkpoints += 1
            self._bad("truncated", "checkpoint/beyond", what, size, place)
            self._note = self._notes.fetchone()
        if self._snapshot.count("tile") > self.tiles_of(size):
            self._find_extra_tiles(size)

    @staticmethod
    def tiles_of(size: int) -> int:
        """Return how many tiles a log of *size* events has."""
        count, tiles = 0, size >> 8
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

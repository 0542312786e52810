"""The rows of `subject` and `blob`, to which events refer.

    subject   (seq, digest)              one row per subject but the event's own data,
                                         and one per series
    blob      (id, digest, seq, data)    data = salt (32 bytes) || content, or NULL

Rules:

- Both tables are read once, in the order of the log, beside the event pass.
- ``blob.id`` counts from 1 without gaps; ``blob.seq`` never falls, and is the first
  event that refers to the digest. The rows of an event agree with its references. No
  event of another run refers to it.
- A content is read only if it has the size that its reference states, and only from a
  regular file: anything else in its place is wrong, and not opened.
- SHA-256 of ``data`` is the digest, its length the size that each reference states. A
  NULL needs the content in ``<database>.blobs/<hex>``, or a later ``blob.erased`` that
  names it; then neither may hold the content any more.
- A small content in a file, and a large one in its row, are where no writer puts them:
  that is only noted, since the bytes match the commitment wherever they are.
- *fast* checks rows, lengths and files, but reads no contents.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from muniment.files.folder import NotAFile, WrongSize
from muniment.format_versions import FORMATS, RESERVED
from muniment.formats.series import SeriesLink, series_digest
from muniment.formats.tables import BLOB_FILE_THRESHOLD
from muniment.verification.report import Findings
from muniment.verification.snapshot import LARGEST, Snapshot
from muniment.verification.statements.blob_references import (
    SALT,
    blob_tag,
    references,
    unnamed,
)

__all__ = ["BlobCheck", "Subjects"]

_NAME = re.compile("[0-9a-f]{64}")
_END = 1 << 63
_CHUNK = 1 << 20
_ASK = "restore the blob from a copy, or record its erasure"


class Subjects:
    """The rows of `subject`, compared with the subjects of each statement."""

    __slots__ = ("_findings", "_row", "_rows", "next")

    def __init__(self, snapshot: Snapshot, findings: Findings) -> None:
        self._findings = findings
        self._rows = snapshot.connection.execute(
            "SELECT CASE typeof(seq) WHEN 'integer' THEN seq END, "
            "CASE WHEN typeof(digest) = 'blob' AND length(digest) = 32 "
            "THEN digest END FROM subject ORDER BY seq, digest"
        )
        self._row: Any = None
        self.next: Any = -1
        self._advance()

    def _advance(self) -> None:
        self._row = self._rows.fetchone()
        self.next = _END if self._row is None else self._row[0]
        if not isinstance(self.next, int):
            self._add(None, "a row's seq is not an integer")
            self.next = _END

    def check(self, seq: int, subject: Any, series: Iterable[SeriesLink]) -> None:
        """Compare the rows up to *seq* with the *subject* and *series* of that event."""
        wanted = {
            one["digest"]["sha256"] for one in subject if one["name"] != "data.json"
        }
        wanted.update(series_digest(one.key).hex() for one in series)
        found: set[str] = set()
        while self.next <= seq:
            digest = self._row[1]
            if not isinstance(digest, bytes):
                self._add(self.next, "a digest is not a blob of 32 bytes")
            elif self.next < seq:
                self._add(self.next, f"no event is about {digest.hex()}")
            else:
                found.add(digest.hex())
            self._advance()
        for digest in sorted(found - wanted):
            self._add(seq, f"the event is not about {digest}")
        for digest in sorted(wanted - found):
            self._add(seq, f"the row for {digest} is missing")

    def skip(self, seq: int) -> None:
        """Pass over the rows up to the event *seq*, which cannot be judged."""
        while self.next <= seq:
            self._advance()

    def finish(self) -> None:
        """Report rows that belong to no event."""
        while self._row is not None:
            seq = self._row[0] if isinstance(self._row[0], int) else None
            self._add(seq, "the row is about no event")
            self._row = self._rows.fetchone()

    def _add(self, seq: int | None, message: str) -> None:
        self._findings.add(
            "edited",
            "subject/row",
            message,
            seq=seq,
            place="subject" if seq is None else f"event {seq} subject",
            remedy="trust the statement; queries by subject answer wrongly",
        )


class BlobCheck:
    """The rows of `blob` and the files beside them, compared with the references."""

    __slots__ = (
        "_absent",
        "_erased",
        "_fast",
        "_findings",
        "_folder",
        "_id",
        "_misplaced",
        "_outside",
        "_row",
        "_rows",
        "_snapshot",
        "compared",
        "next",
        "total",
        "version",
    )

    def __init__(self, snapshot: Snapshot, findings: Findings, *, fast: bool) -> None:
        self._snapshot = snapshot
        self._findings = findings
        self._fast = fast
        self._folder = snapshot.blobs
        self.version = FORMATS["event"]
        """The version of the events, as the genesis states it."""
        self._erased: dict[bytes, int] = {}
        self._absent: dict[bytes, int] = {}
        self._outside: dict[bytes, int] = {}
        """The length that the first reference states, for contents outside the rows."""
        self._id = self._misplaced = 0
        self.compared = self.total = 0
        """How many contents were compared, and how many the events refer to."""
        content = "length(data)" if fast else f"iif(length(data) <= {LARGEST}, data, 0)"
        self._rows: Iterator[Any] = snapshot.connection.execute(
            "SELECT id, CASE WHEN typeof(digest) = 'blob' AND length(digest) = 32 "  # noqa: S608 - our names
            "THEN digest END, "
            "CASE typeof(seq) WHEN 'integer' THEN seq END, "
            f"CASE typeof(data) WHEN 'blob' THEN {content} END, typeof(data) "
            "FROM blob ORDER BY id"
        )
        if snapshot.refused:
            what = f"the folder of blobs: {snapshot.refused}"
            self._add("blob/file", what, None)
        self._row: Any = None
        self.next: int = -1
        self._advance()

    def _advance(self) -> None:
        """Move to the next row that can belong to an event."""
        before = self.next
        for row in self._rows:
            self._id += 1
            if self._is_next(row, before):
                self._row, self.next = row, row[2]
                return
        self._row, self.next = None, _END

    def _is_next(self, row: Any, before: int) -> bool:
        number, digest, seq = row[:3]
        if number != self._id:
            self._add("blob/id", f"a row has id {number}, not {self._id}", seq)
            self._id = number
        if not isinstance(digest, bytes) or not isinstance(seq, int):
            self._add("blob/column", f"row {number} has a column of another type", seq)
            return False
        if seq < before:
            self._add("blob/seq", f"row {number} says event {seq}", seq, digest)
            return False
        return True

    def check(
        self, seq: int, data: Any, subject: Any = None, run: str | None = None
    ) -> None:
        """Compare the rows of the event *seq* with the references in its *data*.

        If *subject* is given, it must name each of them; if *run*, no other run does.
        """

        def say(rule: str, message: str, digest: bytes | None) -> None:
            self._add(rule, message, seq, digest)

        found = references(data, say)
        if subject is not None:
            unnamed(found, subject, say)
        while self.next <= seq:
            row = self._row
            size = found.pop(row[1], None) if row[2] == seq else None
            if size is None:
                what = "the event does not refer to it"
                self._add("blob/unreferenced", what, row[2], row[1])
            else:
                self.total += 1
                self._check_content(row, size)
            self._advance()
        for digest, size in found.items():
            self._check_earlier(seq, digest, size, run)

    def skip(self, seq: int) -> None:
        """Pass over the rows up to the event *seq*, which cannot be judged."""
        while self.next <= seq:
            self._advance()

    def _check_earlier(
        self, seq: int, digest: bytes, size: int, run: str | None
    ) -> None:
        row = self._snapshot.connection.execute(
            "SELECT CASE typeof(seq) WHEN 'integer' THEN seq END, length(data), "
            "(SELECT run FROM event WHERE event.seq = blob.seq) "
            "FROM blob WHERE digest = ?",
            (digest,),
        ).fetchone()
        if row is None:
            self.total += 1
            self._add("blob/missing", "there is no row for it", seq, digest)
            return
        if not isinstance(row[0], int) or row[0] >= seq:
            what = f"its row says that event {row[0]} is the first to refer to it"
            self._add("blob/seq", what, seq, digest)
        if self.version >= RESERVED and run and row[2] not in (None, run):
            what = "it is a blob of another run"
            self._add("blob/run", what, seq, digest)
        known = self._outside.get(digest) if row[1] is None else row[1]
        if known is not None and known != size + SALT:
            self._add("blob/size", f"it has not {size} bytes", seq, digest)

    def _check_content(self, row: Any, size: int) -> None:
        _, digest, seq, data, kind = row
        if kind == "null":
            self._outside[digest] = size + SALT
            self._check_file(seq, digest, size)
            return
        if kind != "blob":
            self._add("blob/column", "its data is not a blob", seq, digest)
            return
        length = data if isinstance(data, int) else len(data)
        if length != size + SALT:
            self._add("blob/size", f"it has not {size} bytes", seq, digest)
        elif not self._fast and hashlib.sha256(cast("bytes", data)).digest() != digest:
            what = "its bytes do not match the commitment"
            self._add("blob/commitment", what, seq, digest)
        else:
            self.compared += not self._fast
            self._misplaced += size > BLOB_FILE_THRESHOLD

    def _check_file(self, seq: int, digest: bytes, size: int) -> None:
        try:
            found = self._file_digest(digest.hex(), size + SALT)
        except FileNotFoundError:
            self._absent[digest] = seq
        except NotAFile as error:
            self._add("blob/file", f"its file: {error.strerror}", seq, digest)
        except WrongSize:
            self._add("blob/size", f"its file has not {size} bytes", seq, digest)
        else:
            if not self._fast and found != digest:
                what = "the bytes of its file do not match the commitment"
                self._add("blob/commitment", what, seq, digest)
            else:
                self.compared += not self._fast
                self._misplaced += size <= BLOB_FILE_THRESHOLD

    def _file_digest(self, name: str, size: int) -> bytes:
        """Return the digest of a file of *size* bytes, read piece by piece."""
        if self._folder is None:
            raise FileNotFoundError
        digest = hashlib.sha256()
        with self._folder.opened(name) as file:
            if os.fstat(file.fileno()).st_size != size:
                raise WrongSize
            while not self._fast and size > 0 and (piece := file.read(_CHUNK)):
                digest.update(piece)
                size -= len(piece)
        return digest.digest()

    def erase(self, seq: int, data: Any) -> None:
        """Remember the blobs that the ``blob.erased`` event *seq* names."""
        listed = data.get("blobs")
        if not isinstance(listed, list):
            self._add("blob/erased", "it lists no blobs", seq)
        tags = cast("list[object]", listed) if isinstance(listed, list) else []
        for tag in tags:
            digest = blob_tag(tag)
            if digest is None:
                self._add("blob/erased", "it names no blob", seq)
            else:
                self._erased.setdefault(digest, seq)

    def finish(self, *, broken: bool) -> int:
        """Report contents missing without an erasure; return how many are erased.

        In a *broken* log the erasure may have been in a bad row: a missing content is
        then reported without an event, so that it does not hide where the log breaks.
        """
        while self._row is not None:
            what = "no event refers to it"
            self._add("blob/unreferenced", what, self._row[2], self._row[1])
            self._row = next(self._rows, None)
        for digest, seq in self._absent.items():
            if self._erased.get(digest, -1) <= seq:
                where = None if broken else seq
                self._add("blob/missing", "the blob is gone", where, digest)
        for digest, seq in self._erased.items():
            self._check_erased(digest, seq)
        self._note_strangers()
        if self._misplaced:
            self._findings.notes.append(
                f"{self._misplaced} blobs are not where a writer puts them: those of "
                f"up to {BLOB_FILE_THRESHOLD} bytes in rows, larger ones in files"
            )
        gone = len(self._absent.keys() & self._erased.keys())
        self.compared += gone
        return gone

    def _note_strangers(self) -> None:
        """Note the names beside the database that belong to no row without bytes."""
        try:
            names = [] if self._folder is None else self._folder.names()
        except OSError as error:
            self._findings.notes.append(f"large blobs not listed: {error.strerror}")
            return
        held = "SELECT 1 FROM blob WHERE digest = ? AND data IS NULL"
        odd = [
            name
            for name in names
            if not _NAME.fullmatch(name)
            or self._snapshot.value(held, bytes.fromhex(name)) is None
        ]
        if odd:
            self._findings.notes.append(
                f"{len(odd)} of the names among the large blobs belong to no row that "
                f"was there when this was read, such as {odd[0]!a:.80}"
            )

    def _check_erased(self, digest: bytes, seq: int) -> None:
        row = self._snapshot.connection.execute(
            "SELECT data IS NULL FROM blob WHERE digest = ?", (digest,)
        ).fetchone()
        if row is None:
            what = "it was erased, and never was there"
            self._add("blob/erased", what, seq, digest)
        elif not row[0] or (self._folder and self._folder.kind(digest.hex())):
            what = "it was erased, and is still there"
            self._add("blob/erased", what, seq, digest)

    def _add(self, rule: str, message: str, seq: object, digest: object = None) -> None:
        named = f"blob {digest.hex()}" if isinstance(digest, bytes) else "blob"
        number = seq if isinstance(seq, int) else None
        place = named if number is None else f"event {number} {named}"
        self._findings.add("blob", rule, message, seq=number, place=place, remedy=_ASK)

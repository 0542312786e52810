"""The trust home: what this user knows of ledgers, kept apart from them.

    $MUNIMENT_HOME/                  mode 0700; else the platform's user data directory
    ├── lock                         held by whoever changes anything here
    ├── locations.json               {"/srv/lab/.muniment/ledger.db": "sha256:<ledger id>"}
    └── ledgers/<hex of ledger id>/
        ├── pins.json                ["SHA256:…", …]  keys that were accepted
        ├── head                     size and hash of the last event (`muniment.heads`)
        ├── anchors.jsonl            {"note":"<checkpoint>","time":"…"}, append-only
        ├── erased.jsonl             {"digests":[…],"reason":"…","time":"…"}
        ├── verified.json            {"ok":true,"size":12,"time":"…"}
        ├── keys/                    writer.pem, checkpoint.pem
        └── recovery/                root.pem, next-root.pem: to be moved away

Rules:

- Reading makes nothing: a home that is not there knows nothing. The first write makes
  it. One that other users can write to is refused: they could plant a pin.
- A JSON file is replaced whole; a line is appended and synced. Both under the lock.
- What cannot be read raises and names file and line; nothing is skipped.
- A location is never given to another ledger, only forgotten.

Specification: ``docs/spec/trust-home.md``.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from muniment.canonical import JsonValue
from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment.heads import Head, HeadMemory, lock_file
from muniment.trustfiles import (
    append_line,
    damaged,
    load_json,
    load_lines,
    replace_json,
    texts,
    unreadable,
)

__all__ = ["TrustHome", "Verified"]

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_KEYID = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_USER = re.compile(r"([^/@:]*)(?::.*)?@([^@]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verified:
    """The last verification: when, over how many events, and whether all held."""

    time: str
    size: int
    ok: bool


class TrustHome:
    """The pins, heads, anchors and erasures in one directory; safe for processes."""

    __slots__ = ("path",)

    def __init__(self, path: Path | None = None) -> None:
        """Take *path*, else ``MUNIMENT_HOME``, else the platform's place."""
        self.path = path or _default_home()

    def location(self, url_or_path: str | os.PathLike[str]) -> str:
        """Return the one spelling of where a ledger is; never with a password.

        A SQLite file is its absolute real path. Another database is its URL without
        driver and password: how one logs in does not make it another place. An ``@``
        behind the host is written ``%40``, or it is taken for the end of a password.
        """
        text = os.fspath(url_or_path)
        url = _URL.fullmatch(text)
        if url is None:
            return os.path.normcase(os.path.realpath(text))
        scheme, rest = url[1].lower().partition("+")[0], url[2]
        if scheme == "sqlite":
            return _sqlite_location(rest)
        user = _USER.fullmatch(rest)
        if user is not None:
            rest = f"{user[1]}@{user[2]}" if user[1] else user[2]
        base, _, query = rest.partition("?")
        kept = [item for item in query.split("&") if not _is_secret(item)]
        return f"{scheme}://{base}" + ("?" + "&".join(kept) if any(kept) else "")

    def ledger_at(self, location: str) -> str | None:
        """Return the id of the ledger that was last known at *location*."""
        return self._locations().get(self.location(location))

    def locations(self, ledger_id: str) -> list[str]:
        """Return every remembered location of a ledger, sorted."""
        known = self._locations()
        return sorted(place for place, found in known.items() if found == ledger_id)

    def remember(self, location: str, ledger_id: str) -> None:
        """Remember that *ledger_id* is at *location*.

        Raises:
            RefusedError: another ledger is known there.

        """
        _digits(ledger_id)
        place = self.location(location)
        with self._changing() as home:
            known = self._locations()
            if known.setdefault(place, ledger_id) != ledger_id:
                raise RefusedError(
                    f"another ledger is known here ({known[place]})",
                    rule="trust/location",
                    place=place,
                    remedy=f"muniment forget {place}, if that ledger is given up",
                )
            replace_json(home / "locations.json", dict(known))

    def forget(self, location: str) -> str | None:
        """Remove the entry of *location* alone; return the ledger id that it had."""
        place = self.location(location)
        if place not in self._locations():
            return None
        with self._changing() as home:
            known = self._locations()
            ledger_id = known.pop(place, None)
            replace_json(home / "locations.json", dict(known))
        return ledger_id

    def pins(self, ledger_id: str) -> frozenset[str]:
        """Return the key ids that were accepted for a ledger."""
        path = self._of(ledger_id, "pins.json")
        known = load_json(path)
        pins = [] if known is None else texts(known)
        if pins is None or not all(map(_KEYID.fullmatch, pins)):
            raise damaged(path, "is not a list of key ids")
        return frozenset(pins)

    def pin(self, ledger_id: str, keyid: str) -> None:
        """Accept the key *keyid* for a ledger."""
        if _KEYID.fullmatch(keyid) is None:
            raise UsageError(
                f"{keyid!r} is not a key id",
                rule="trust/keyid",
                remedy="give SHA256:… as ssh-keygen -lf prints it",
            )
        with self._changing(ledger_id) as directory:
            pins = self.pins(ledger_id) | {keyid}
            replace_json(directory / "pins.json", [*sorted(pins)])

    def keys_directory(self, ledger_id: str, *, create: bool = False) -> Path:
        """Return where a ledger's writer and checkpoint keys are kept."""
        return self._directory(ledger_id, "keys", create=create)

    def recovery_directory(self, ledger_id: str, *, create: bool = False) -> Path:
        """Return where a ledger's root keys are put, to be moved away."""
        return self._directory(ledger_id, "recovery", create=create)

    def head(self, ledger_id: str) -> Head | None:
        """Return the remembered head of a ledger."""
        return HeadMemory(self._of(ledger_id, "head")).read()

    def head_memory(self, ledger_id: str) -> HeadMemory:
        """Return the writer's handle on the head memory of a ledger."""
        with self._changing(ledger_id) as directory:
            return HeadMemory(directory / "head")

    def anchor(self, ledger_id: str, note: bytes) -> None:
        """Add the checkpoint *note* to the anchor history; on disk when this returns."""
        entry: dict[str, JsonValue] = {"note": note.decode(), "time": _now()}
        with self._changing(ledger_id) as directory:
            append_line(directory / "anchors.jsonl", entry)

    def anchors(self, ledger_id: str) -> list[bytes]:
        """Return the checkpoint notes of the anchor history, the oldest first."""
        path, notes = self._of(ledger_id, "anchors.jsonl"), list[bytes]()
        for number, entry in enumerate(load_lines(path), 1):
            note = entry.get("note")
            if not isinstance(note, str):
                raise damaged(path, "has no note", line=number)
            notes.append(note.encode())
        return notes

    def record_erasure(
        self, ledger_id: str, digests: Iterable[str], reason: str
    ) -> None:
        """Remember that blobs were erased, so that a restored copy loses them too."""
        listed = sorted(set(digests))
        if not all(_DIGEST.fullmatch(digest) for digest in listed):
            raise UsageError("a digest is not sha256:<hex>", rule="trust/digest")
        entry: dict[str, JsonValue] = {
            "digests": [*listed],
            "reason": reason,
            "time": _now(),
        }
        with self._changing(ledger_id) as directory:
            append_line(directory / "erased.jsonl", entry)

    def erasures(self, ledger_id: str) -> frozenset[str]:
        """Return the digests of all blobs that were erased."""
        path, erased = self._of(ledger_id, "erased.jsonl"), set[str]()
        for number, entry in enumerate(load_lines(path), 1):
            digests = texts(entry.get("digests"))
            if digests is None or not all(map(_DIGEST.fullmatch, digests)):
                raise damaged(path, "lists no digests", line=number)
            erased.update(digests)
        return frozenset(erased)

    def note_verified(self, ledger_id: str, size: int, *, ok: bool) -> None:
        """Remember that the first *size* events were verified just now."""
        with self._changing(ledger_id) as directory:
            entry: JsonValue = {"ok": ok, "size": size, "time": _now()}
            replace_json(directory / "verified.json", entry)

    def verified(self, ledger_id: str) -> Verified | None:
        """Return the last verification of a ledger."""
        path = self._of(ledger_id, "verified.json")
        match load_json(path):
            case None:
                return None
            case {"time": str(time), "size": int(size), "ok": bool(ok)}:
                return Verified(time, size, ok)
            case _:
                raise damaged(path, "is not a verification")

    def _locations(self) -> dict[str, str]:
        self._refuse_shared()
        path = self.path / "locations.json"
        known = load_json(path)
        if known is None:
            return {}
        if not isinstance(known, dict):
            raise damaged(path, "does not map locations to ledger ids")
        ids = texts([*known.values()])
        if ids is None or not all(map(_DIGEST.fullmatch, ids)):
            raise damaged(path, "names something that is not a ledger id")
        return dict(zip(known, ids, strict=True))

    def _of(self, ledger_id: str, name: str) -> Path:
        self._refuse_shared()
        return self.path / "ledgers" / _digits(ledger_id) / name

    def _directory(self, ledger_id: str, name: str, *, create: bool) -> Path:
        if create:
            with self._changing(ledger_id) as directory:
                (directory / name).mkdir(mode=0o700, exist_ok=True)
        return self._of(ledger_id, name)

    @contextmanager
    def _changing(self, ledger_id: str = "") -> Generator[Path]:
        """Hold the lock; yield the home, or the directory of a ledger, made if new."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_shared()
            fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            with open(fd, "rb") as lock:  # noqa: PTH123 - a descriptor, not a path
                lock_file(lock.fileno())  # until it is closed
                directory = self.path
                for name in ("ledgers", _digits(ledger_id)) if ledger_id else ():
                    directory /= name
                    directory.mkdir(mode=0o700, exist_ok=True)
                yield directory
        except OSError as error:
            raise CannotTellError(
                f"the trust home cannot be written ({error.strerror})",
                rule="trust/unwritable",
                place=str(error.filename or self.path),
                remedy="make room, or name another one with MUNIMENT_HOME",
            ) from None

    def _refuse_shared(self) -> None:
        try:
            mode = stat.S_IMODE(self.path.stat().st_mode)
        except FileNotFoundError:
            return
        except OSError as error:
            raise unreadable(self.path, error) from None
        if os.name == "posix" and mode & 0o022:
            raise RefusedError(
                f"other users can write to the trust home (mode {mode:04o})",
                rule="trust/permissions",
                place=str(self.path),
                remedy=f"look at what it says, then chmod 700 {self.path}",
            )


def _default_home() -> Path:
    named = os.environ.get("MUNIMENT_HOME")
    if named:
        return Path(named)
    import platformdirs  # noqa: PLC0415 - only where no home is named

    return platformdirs.user_data_path("muniment", appauthor=False)


def _sqlite_location(rest: str) -> str:
    path = rest.partition("?")[0].removeprefix("/")
    if path in ("", ":memory:"):
        raise UsageError(
            "a database in memory has no location",
            rule="trust/location",
            remedy="give a file: sqlite:///PATH",
        )
    return os.path.normcase(os.path.realpath(path))


def _is_secret(item: str) -> bool:
    return item.partition("=")[0].lower() in ("password", "sslpassword")


def _digits(ledger_id: str) -> str:
    match = _DIGEST.fullmatch(ledger_id)
    if match is None:
        raise UsageError(f"{ledger_id!r} is not a ledger id", rule="trust/ledger-id")
    return match[1]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

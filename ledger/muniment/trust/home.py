"""The trust home: what this user knows about ledgers, kept apart from them.

    $MUNIMENT_HOME/                  mode 0700; else the platform's user data directory
    ├── lock                         held by whoever changes anything here
    ├── blobs.json                   {"<location>": "<folder of its large contents>"}
    ├── locations.json               {"/srv/lab/.muniment/ledger.db": "sha256:<ledger id>"}
    ├── seen.json                    what verifications saw (`muniment.trust.verification_memory`)
    └── ledgers/<hex of ledger id>/
        ├── pins.json                ["SHA256:…", …]  keys that were accepted
        ├── head                     size and hash of the last event (`muniment.trust.head_memory`)
        ├── anchors.jsonl            {"note":"<checkpoint>","time":"…"}, append-only
        ├── erased.jsonl             {"digests":[…],"event":{…},"reason":"…","time":"…"}
        ├── verified.json            {"ok":true,"size":12,"time":"…"}
        ├── cache.json               {"secret":"<hex>"}  under which a cache is believed
        ├── keys/                    writer.pem, checkpoint.pem
        └── recovery/                root.pem, next-root.pem: move them away

Rules:

- Reading creates nothing: a missing home knows nothing. The first write creates it. A
  home that other users can write to is refused: they could plant a pin.
- A JSON file is replaced whole; a line is appended and synced. Both under the lock.
- Anything unreadable raises and names file and line; nothing is skipped.
- A location is known by the path as written and by the path that it leads to; whichever
  is known must agree. It is never given to another ledger, only forgotten.

Specification: ``docs/spec/trust-home.md``.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, RefusedError, UsageError, WrongError
from muniment.trust.head_memory import Head, HeadMemory, lock_file
from muniment.trust.home_location import default_home, refuse_no_home
from muniment.trust.json_files import (
    append_line,
    damaged,
    load_json,
    load_lines,
    open_lock,
    refuse_shared,
    replace_json,
    require_folders,
    texts,
)
from muniment.trust.ledger_location import leads_to, rememberable, spellings
from muniment.trust.verification_memory import SeenLedger, read_seen

__all__ = ["TrustHome", "Verified"]

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_SECRET = re.compile(r"[0-9a-f]{64}")
_KEYID = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


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
        self.path = path or default_home()

    def location(self, url_or_path: str | os.PathLike[str]) -> str:
        """Return a ledger's place as `muniment.trust.ledger_location` spells it."""
        return leads_to(url_or_path)

    def places(self, url_or_path: str | os.PathLike[str]) -> tuple[str, ...]:
        """Return the spellings of a ledger's place: as written, and real."""
        return spellings(url_or_path)

    def ledger_at(self, location: str | os.PathLike[str]) -> str | None:
        """Return the id of the ledger that was last known at *location*.

        Raises:
            WrongError: one is known there, and another where a link there leads.

        """
        known = self._locations()
        found = {
            known[place]: place for place in self.places(location) if place in known
        }
        if len(found) > 1:
            (one, here), (other, there) = found.items()
            raise WrongError(
                f"the ledger {one[:19]}… was here, and a link leads to {there}, where "
                f"{other[:19]}… was",
                rule="head/foreign",
                place=here,
                remedy="find out who put the link there; `muniment forget "
                f"{here}` accepts it",
            )
        return next(iter(found), None)

    def locations(self, ledger_id: str) -> list[str]:
        """Return every remembered location of a ledger, sorted."""
        known = self._locations()
        return sorted(place for place, found in known.items() if found == ledger_id)

    def remember(self, location: str | os.PathLike[str], ledger_id: str) -> None:
        """Remember that *ledger_id* is at *location*, as written and where it leads.

        Raises:
            RefusedError: another ledger is known there.

        """
        _digits(ledger_id)
        with self._changing() as home:
            known = self._locations()
            for place in rememberable(location):
                if known.setdefault(place, ledger_id) != ledger_id:
                    raise RefusedError(
                        f"another ledger is known here ({known[place]})",
                        rule="trust/location",
                        place=place,
                        remedy=f"muniment forget {place}, if that ledger is given up",
                    )
            replace_json(home / "locations.json", dict(known))

    def forget(self, location: str | os.PathLike[str]) -> str | None:
        """Forget *location*; return the ledger id that it had.

        That is the path as written; the place where a link leads is forgotten with it
        only if the same ledger is known there. What a verification saw there goes too.
        """
        places, known, seen = self.places(location), self._locations(), self.seen()
        ids = [known[place] for place in places if place in known]
        ids += [seen[place].ledger for place in places if place in seen]
        if not ids:
            return None
        with self._changing() as home:
            known, seen = self._locations(), self.seen()
            for place in places:
                if known.get(place) == ids[0]:
                    del known[place]
                if place in seen and seen[place].ledger == ids[0]:
                    del seen[place]
            replace_json(home / "locations.json", dict(known))
            replace_json(home / "seen.json", _plain(seen))
        return ids[0]

    def seen(self) -> dict[str, SeenLedger]:
        """Return what verifications found intact, by location."""
        refuse_shared(self.path)
        return read_seen(self.path / "seen.json")

    def seen_at(self, location: str | os.PathLike[str]) -> SeenLedger | None:
        """Return what a verification found at *location*, as written or where it leads."""
        known = self.seen()
        found = (known[place] for place in self.places(location) if place in known)
        return next(found, None)

    def note_seen(
        self, location: str | os.PathLike[str], ledger_id: str, size: int, root: bytes
    ) -> None:
        """Remember that *ledger_id* was intact at *location*, with *size* events.

        A longer one that is remembered there, or another ledger, stays.
        """
        fresh = SeenLedger(ledger_id, size, root, _now())
        with self._changing() as home:
            seen = self.seen()
            for place in rememberable(location):
                known = seen.setdefault(place, fresh)
                if known.ledger == ledger_id and known.size <= size:
                    seen[place] = fresh
            replace_json(home / "seen.json", _plain(seen))

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
        """Return the directory of a ledger's writer and checkpoint keys."""
        return self._directory(ledger_id, "keys", create=create)

    def recovery_directory(self, ledger_id: str, *, create: bool = False) -> Path:
        """Return the directory of a ledger's root keys, until they are moved away."""
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
        self,
        ledger_id: str,
        digests: Iterable[str],
        reason: str,
        event: dict[str, JsonValue] | None = None,
    ) -> None:
        """Remember that blobs were erased, so that a restored copy loses them too.

        *event* is the signed ``blob.erased`` of the erasure; without it the list orders
        nothing.
        """
        listed = sorted(set(digests))
        if not all(_DIGEST.fullmatch(digest) for digest in listed):
            raise UsageError("a digest is not sha256:<hex>", rule="trust/digest")
        entry: dict[str, JsonValue] = {
            "digests": [*listed],
            "reason": reason,
            "time": _now(),
        }
        if event is not None:
            entry["event"] = event
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

    def erasure_events(self, ledger_id: str) -> list[JsonValue]:
        """Return the ``event`` of every erasure that has one, unchecked."""
        lines = load_lines(self._of(ledger_id, "erased.jsonl"))
        return [line["event"] for line in lines if "event" in line]

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
            case {"time": str(time), "size": int(size), "ok": bool(ok)} if (
                type(size) is int and size >= 0
            ):
                return Verified(time, size, ok)
            case _:
                raise damaged(path, "is not a verification")

    def cache_secret(self, ledger_id: str) -> bytes | None:
        """Return the secret under which this user believes a cache of a ledger.

        It is made if keys of the ledger are pinned; None for a stranger, or if the home
        is not writable.
        """
        match load_json(self._of(ledger_id, "cache.json")):
            case {"secret": str(secret)} if _SECRET.fullmatch(secret):
                return bytes.fromhex(secret)
            case _ if self.pins(ledger_id):
                fresh = secrets.token_bytes(32)
            case _:
                return None
        with suppress(CannotTellError), self._changing(ledger_id) as directory:
            replace_json(directory / "cache.json", {"secret": fresh.hex()})
            return fresh
        return None

    def blobs_of(self, location: str | os.PathLike[str]) -> Path | None:
        """Return the folder of a ledger's large contents, unless it is beside it."""
        places, path = self.places(location), self.path / "blobs.json"
        known = load_json(path)
        found = known.get(places[-1]) if isinstance(known, dict) else known
        if found is not None and not isinstance(found, str):
            raise damaged(path, "does not map locations to folders")
        return None if found is None else Path(found)

    def keep_blobs(self, location: str | os.PathLike[str], folder: Path | None) -> None:
        """Remember the *folder* of the large contents of a ledger at *location*."""
        place = rememberable(location)[-1]
        with self._changing() as home:
            known = load_json(home / "blobs.json")
            kept = dict(known) if isinstance(known, dict) else {}
            kept.pop(place, None)
            if folder is not None:
                kept[place] = os.path.realpath(folder)
            replace_json(home / "blobs.json", kept)

    def _locations(self) -> dict[str, str]:
        refuse_shared(self.path)
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
        refuse_shared(self.path)
        return require_folders(self.path, "ledgers", _digits(ledger_id)) / name

    def _directory(self, ledger_id: str, name: str, *, create: bool) -> Path:
        if create:
            with self._changing(ledger_id) as directory:
                (directory / name).mkdir(mode=0o700, exist_ok=True)
        return require_folders(self._of(ledger_id, ""), name)

    @contextmanager
    def _changing(self, ledger_id: str = "") -> Generator[Path]:
        """Hold the lock; yield the home, or the directory of a ledger, made if new."""
        refuse_no_home(self.path)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            refuse_shared(self.path)
            fd = open_lock(self.path / "lock")
            with open(fd, "rb") as lock:  # noqa: PTH123 - a descriptor, not a path
                lock_file(lock.fileno())  # until it is closed
                directory = self.path
                for name in ("ledgers", _digits(ledger_id)) if ledger_id else ():
                    directory = require_folders(directory, name)
                    directory.mkdir(mode=0o700, exist_ok=True)
                yield directory
        except OSError as error:
            raise CannotTellError(
                f"the trust home cannot be written ({error.strerror})",
                rule="trust/unwritable",
                place=str(error.filename or self.path),
                remedy="make room, or name another one with MUNIMENT_HOME",
            ) from None


def _digits(ledger_id: str) -> str:
    match = _DIGEST.fullmatch(ledger_id)
    if match is None:
        raise UsageError(f"{ledger_id!r} is not a ledger id", rule="trust/ledger-id")
    return match[1]


def _plain(seen: dict[str, SeenLedger]) -> JsonValue:
    return {place: one.to_json() for place, one in seen.items()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

"""Single answers from the log: the head, one event, one run's events, its id.

Rules: each starts after O(log n) steps, and loads no toolkit (ADR 18); ids may be given
by any unique prefix.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Literal, cast

from muniment.encoding.canonical import sha256_tag
from muniment.errors import StoreError, UsageError, WrongError
from muniment.events.readable import readable
from muniment.formats.dsse import pae
from muniment.formats.lifecycle import STARTED
from muniment.formats.series import series_digest
from muniment.formats.statement import Event, read_event
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import Keyring
from muniment.storage.connections import Database, Execute
from muniment.storage.tail import last_row
from muniment.trust.head_memory import Head

__all__ = [
    "digest",
    "event_at",
    "events_in",
    "events_of_run",
    "first_of_run",
    "has_head",
    "head_of",
    "is_of_series",
    "keyring_of",
    "last_of_series",
    "ledger_id_of",
    "run_id",
    "time_from",
    "types_of",
]

PAGE = 500

_ABOUT = "SELECT DISTINCT digest FROM subject WHERE digest BETWEEN ? AND ? LIMIT 2"
_ANY_ABOUT = "SELECT seq FROM subject WHERE digest = ? LIMIT 1"
_DIGEST = re.compile(r"sha256:([0-9a-f]{1,64})")
_DIGITS = 64
_LAST = re.compile(r"last(?:~(\d{1,9}))?")
"""No id begins like it: ids have no letter L."""

_ROW = "SELECT payload, signature, key, hash FROM event WHERE seq = ?"
_WHOLE = "SELECT seq, type, run, payload, signature, key, hash FROM event WHERE seq = ?"
_PAGE = (
    "SELECT seq, type, run, payload, signature, key, hash FROM event "
    "WHERE {}seq >= ? AND seq < ? ORDER BY seq {} LIMIT ?"
)
_FROM = (
    "SELECT seq, type, run, payload, signature, key, hash FROM event "
    "WHERE seq >= ? ORDER BY seq LIMIT 1"
)
_CHOSEN = {
    "run": "run = ? AND ",
    "type": "type = ? AND ",
    # The unary plus: one of the other conditions, or the order, chooses the index.
    "types": "+type IN (SELECT value FROM json_each(?)) AND ",
    "subject": "seq IN (SELECT seq FROM subject WHERE digest = ?) AND ",
    "series": "seq IN (SELECT seq FROM subject WHERE digest = ?) AND ",
}
"""What to select by → its part of a page's condition."""
_KEY_EVENTS = (
    "SELECT payload, signature, key, hash FROM event WHERE type IN "
    "('ledger.opened', 'key.enrolled', 'key.revoked', 'key.rotated') ORDER BY seq"
)
_OF_SERIES = (
    "SELECT e.payload, e.signature, e.key, e.hash FROM subject AS s "
    "JOIN event AS e ON e.seq = s.seq WHERE s.digest = ? ORDER BY s.seq DESC"
)
_LARGEST = 2**63 - 1  # SQLite's largest integer
# SELECT DISTINCT would read the whole index.
_TYPES = (
    "WITH RECURSIVE one(type) AS (SELECT min(type) FROM event UNION ALL "
    "SELECT (SELECT min(type) FROM event WHERE type > one.type) FROM one "
    "WHERE one.type IS NOT NULL) SELECT type FROM one WHERE type IS NOT NULL"
)
_APART = 50
"""So many types at most are read apart, each by the index on the type."""
_FIRST = "SELECT min(seq) FROM event WHERE run = ?"
_RUNS = (  # DISTINCT would read all that the index has of the run
    "SELECT (SELECT min(run) FROM event WHERE run >= ? AND run < ?), "
    "(SELECT max(run) FROM event WHERE run >= ? AND run < ?)"
)


def ledger_id_of(database: Database) -> str:
    """Return the id of the ledger in *database*: the hash of its genesis payload."""
    with database.reading() as driver:
        row = driver.execute(_ROW, (0,)).fetchone()
    if row is None:
        raise StoreError(
            "the ledger is empty; not even its genesis is there",
            rule="event/genesis",
            place=str(database.path),
            remedy="run `muniment verify`; restore a backup",
        )
    if not isinstance(row[0], bytes):
        raise WrongError(
            "the genesis has no payload",
            rule="event/statement",
            seq=0,
            place=str(database.path),
            remedy="run `muniment verify`",
        )
    return sha256_tag(row[0])


def head_of(database: Database) -> Head:
    """Return the size of the log and the leaf hash of its last event."""
    with database.reading() as driver:
        row = last_row(driver.execute)
    if row is None:
        return Head(0, hashlib.sha256(b"").digest())
    return Head(row[0] + 1, row[1])


def event_at(database: Database, seq: int) -> Event:
    """Return event number *seq*.

    Raises:
        UsageError: there is none.

    """
    with database.reading() as driver:
        row = driver.execute(_WHOLE, (-1 if seq > _LARGEST else seq,)).fetchone()
        if row is not None:
            return readable(row[:3], *row[3:], declared=database.declared)
    raise UsageError(
        f"there is no event {seq}; the last is {head_of(database).size - 1}",
        rule="event/unknown",
        place=str(database.path),
        remedy="`muniment events` lists them",
    )


def keyring_of(execute: Execute, ledger_id: str, place: str) -> Keyring:
    """Return the keys of the ledger behind *execute*, as its key events say.

    Each event counts only under its own signature: all trust depends on them.

    Raises:
        StoreError: there is no genesis.
        WrongError: a key event breaks a rule of keys, or is not signed as it says.

    """
    keyring: Keyring | None = None
    for row in execute(_KEY_EVENTS):
        event = read_event(row[0], row[1], row[2], row[3])
        signer = PublicKey(bytes(event.key))
        if not signer.verify(event.signature, pae(event.payload)):
            raise WrongError(
                "the signature is not its key's over the payload",
                rule="event/signature",
                seq=event.seq,
                place=f"{place} event {event.seq}",
                remedy="run `muniment verify`",
            )
        if keyring is None:
            keyring = Keyring.genesis(event.raw, signer, ledger_id)
        else:
            keyring.apply(event.seq, event.type, event.raw, signer)
    if keyring is None:
        raise StoreError(
            "the ledger has no genesis",
            rule="event/genesis",
            place=place,
            remedy="run `muniment verify`",
        )
    return keyring


def last_of_series(execute: Execute, keys: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Return the count and the last leaf hash of each series that has events.

    Raises:
        WrongError: a row does not hold a statement.

    """
    found: dict[str, tuple[int, str]] = {}
    for key in set(keys):
        # An event may also be about the digest of a key without being in the series.
        for row in execute(_OF_SERIES, (series_digest(key),)):
            event = read_event(row[0], row[1], row[2], row[3])
            if is_of_series(event, key):
                (count,) = (one.count for one in event.series if one.key == key)
                found[key] = count, event.hash
                break
    return found


def has_head(database: Database, size: int, leaf: str) -> bool:
    """Tell whether the event before *size* has the leaf hash *leaf* (hex)."""
    with database.reading() as driver:
        row = driver.execute(
            "SELECT hash FROM event WHERE seq = ?", (size - 1,)
        ).fetchone()
    return row is not None and cast("bytes", row[0]).hex() == leaf


def events_of_run(
    database: Database, run: str, start: int = 0, kind: str | None = None
) -> Iterator[Event]:
    """Yield a run's events, of one type or all, from *start* on."""
    chosen = {"run": run} if kind is None else {"run": run, "type": kind}
    return (event for _, event in _pages(database, chosen, start, _LARGEST, "asc"))


def events_in(  # noqa: PLR0913 - one keyword for each filter
    database: Database,
    *,
    run: str | None = None,
    types: Collection[str] = (),
    subject: str | None = None,
    series: str | None = None,
    start: int = 0,
    end: int | None = None,
    order: Literal["asc", "desc"] = "asc",
    most: int | None = None,
) -> Iterator[Event]:
    """Yield the events of a run or of all, of some types or of all, in their order.

    At most *most* events from *start* on and before *end*, none that is appended
    meanwhile. With *subject*, a whole ``sha256:…``, only events about it; with
    *series*, a key, only events of that series.
    """
    chosen: dict[str, str | bytes] = {} if run is None else {"run": run}
    if subject is not None:
        chosen["subject"] = bytes.fromhex(subject.removeprefix("sha256:"))
    if series is not None:
        chosen["series"] = key = series_digest(series)
        with database.reading() as driver:  # often asked, of mail that nobody sent
            if driver.execute(_ANY_ABOUT, (key,)).fetchone() is None:
                return
    size = head_of(database).size
    end = size if end is None else min(end, size)
    if start >= end or most == 0:
        return
    page = PAGE if most is None else min(most, PAGE)
    names = sorted(set(types))
    if names and (chosen or len(names) > _APART):
        each = [{**chosen, "types": json.dumps(names)}]
    else:
        each = [{"type": name} for name in names] or [chosen]
    pages = [_pages(database, one, start, end, order, page) for one in each]
    merged = heapq.merge(*pages, key=itemgetter(0), reverse=order == "desc")
    found = (one for _, one in merged if series is None or is_of_series(one, series))
    yield from islice(found, most)


def first_of_run(database: Database, run: str, kind: str | None = None) -> int | None:
    """Return the position of a run's first event, or of its first of one type."""
    with database.reading() as driver:
        if kind is None:
            row = driver.execute(_FIRST, (run,)).fetchone()
        else:
            row = driver.execute(f"{_FIRST} AND +type = ?", (run, kind)).fetchone()
    return cast("int | None", row[0])


def types_of(database: Database) -> list[str]:
    """Return the event types of the log."""
    with database.reading() as driver:
        names = [row[0] for row in driver.execute(_TYPES)]
    return [one for one in names if isinstance(one, str)]


def time_from(database: Database, seq: int) -> str:
    """Return the time of the first event at *seq* or after it, which is there."""
    with database.reading() as driver:
        row = driver.execute(_FROM, (seq,)).fetchone()
    return readable(row[:3], *row[3:]).time


def is_of_series(event: Event, key: str) -> bool:
    """Tell whether *event* is in the series *key*, not only about its digest."""
    return any(one.key == key for one in event.series)


def _pages(
    database: Database,
    chosen: Mapping[str, str | bytes],
    start: int,
    end: int,
    order: str,
    page: int = PAGE,
) -> Iterator[tuple[int, Event]]:
    """Yield positions and events, in pages: no transaction stays open.

    Payloads are parsed as they are used: often only the first of a page are. A page
    that is not full is the last. Positions are those of the rows: following the
    claims of payloads could loop forever.
    """
    statement = _PAGE.format("".join(_CHOSEN[one] for one in chosen), order)
    keys = chosen.values()
    while True:
        limits = (max(start, 0), end, page)
        with database.reading() as driver:
            rows = driver.execute(statement, (*keys, *limits)).fetchall()
        for row in rows:
            yield row[0], readable(row[:3], *row[3:], declared=database.declared)
        if len(rows) < page:
            return
        if order == "desc":
            end = rows[-1][0]
        else:
            start = rows[-1][0] + 1


def run_id(database: Database, prefix: str) -> str:
    """Return the id of the only run whose id begins with *prefix*.

    ``last`` is the run that was started last, ``last~1`` the one before it. Runs that
    another one called, and recorded replays, are passed over.

    Raises:
        UsageError: there is none, or more than one.

    """
    if (counted := _LAST.fullmatch(prefix)) is not None:
        return _run_before(database, prefix, int(counted[1] or 0))
    wanted = prefix.upper()
    with database.reading() as driver:
        first, last = driver.execute(_RUNS, 2 * (wanted, wanted + "~")).fetchone()
    if not wanted or first is None or first != last:
        several = bool(wanted and first is not None)
        found = "more than one run" if several else "no run"
        raise UsageError(
            f"{found} begins with {prefix!r}",
            rule="run/unknown",
            place=str(database.path),
            remedy=f"{'give more of it; ' * several}`muniment runs` lists them",
        )
    return cast("str", first)


def _run_before(database: Database, name: str, number: int) -> str:
    """Return the run that has *number* later ones, of those started by themselves."""
    started = (
        str(one.run)
        for one in events_in(database, types={STARTED}, order="desc")
        if one.run is not None
        and not (one.raw.get("parent") or one.raw.get("replay_of"))
    )
    runs = dict.fromkeys(started)  # a run is one, however often it says that it starts
    found = next(islice(runs, number, None), None)
    if found is None:
        raise UsageError(
            f"no run is {name}: {len(runs)} were started",
            rule="run/unknown",
            place=str(database.path),
            remedy="`muniment runs` lists them; `muniment run FILE` records one",
        )
    return found


def digest(database: Database, prefix: str) -> str:
    """Return the only ``sha256:…`` of subjects and contents that begins with *prefix*.

    A whole digest is returned as it is, whether or not any event is about it.

    Raises:
        UsageError: none does, or more than one, or *prefix* is not of a digest.

    """
    written = _DIGEST.fullmatch(prefix)
    if written is None:
        raise _no_digest(prefix, "a digest is written sha256:<64 hex digits>")
    wanted = written[1]
    if len(wanted) == _DIGITS:
        return prefix
    ends = tuple(bytes.fromhex(wanted.ljust(_DIGITS, end)) for end in "0f")
    with database.reading() as driver:
        rows = driver.execute(_ABOUT, ends).fetchall()
    if len(rows) != 1:
        found = "more than one digest" if rows else "no digest"
        raise _no_digest(prefix, f"{found} begins like this")
    return f"sha256:{cast('bytes', rows[0][0]).hex()}"


def _no_digest(prefix: str, what: str) -> UsageError:
    return UsageError(
        what,
        rule="blob/reference",
        place=prefix[:80],
        remedy="`muniment events show SEQ` prints those of an event",
    )

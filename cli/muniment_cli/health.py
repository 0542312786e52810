"""What `status` and `doctor` find out about this machine and ledger.

Rules: a check says ok, warn or bad, what it saw, and what to do; it repairs nothing. A
check that fails itself is a finding like any other.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import MunimentError
from muniment.homes import refuse_no_home
from muniment_cli.anchoring import anchored, is_whole
from muniment_cli.output import count

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.plugins import Plugins
    from muniment.trust import TrustHome

__all__ = [
    "Check",
    "check_ledger",
    "check_machine",
    "check_plugins",
    "isolation_level",
    "open_runs",
]

WAL_RESET_FIXED = (3, 51, 3)
"""Since here, and in the branches below, two processes cannot lose a commit by
resetting the write-ahead log at the same moment (sqlite.org/wal.html#walresetbug)."""
WAL_RESET_BACKPORTS = {(3, 44): 6, (3, 50): 7}
WAL_RESET_SINCE = (3, 7, 0)
FLOOR = "MUNIMENT_REQUIRE"
BUILT = 2026
"""No clock that is right shows an earlier year."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    verdict: str
    """``ok``, ``warn`` or ``bad``."""
    seen: str
    remedy: str = ""


def check_machine(home: TrustHome) -> Iterator[Check]:
    """Look at Python, SQLite, the clock and the trust home."""
    version = sys.version_info
    yield Check("python", "ok", f"{version.major}.{version.minor}.{version.micro}")
    yield _sqlite(sqlite3.sqlite_version_info)
    yield _clock()
    yield _home(home)


def check_plugins(plugins: Plugins) -> Iterator[Check]:
    """Load every plugin that may load, and ask the capsule for its walls."""
    try:
        for name, version in plugins.versions.items():
            hooks = ", ".join(plugins.hooks_of(name)) or "no hook"
            yield Check("plugin", "ok", f"{name} {version}: {hooks}")
        isolation = list(_isolation(plugins))
    except MunimentError as error:
        seen = f"{error.place}: {error.message}".removeprefix(": ")
        yield Check("plugin", "bad", seen, error.remedy)
        return
    yield from isolation


def check_ledger(ledger: Ledger) -> Iterator[Check]:
    """Look at the keys, the recovery files, the memory and the anchors of *ledger*."""
    home = ledger.home
    pins = home.pins(ledger.id)
    yield (
        Check("pin", "ok", ", ".join(_newest_first(ledger, pins)))
        if pins
        else Check(
            "pin",
            "warn",
            "no key of this ledger is pinned: it is read, not written",
            "`muniment keys trust FINGERPRINT`, as its keeper tells you",
        )
    )
    yield from _keys(home.keys_directory(ledger.id))
    yield _recovery(home.recovery_directory(ledger.id))
    yield _newest(ledger)
    yield _head(ledger)
    yield _checkpoint(ledger)
    yield _anchored(ledger)


def _newest_first(ledger: Ledger, pins: frozenset[str]) -> list[str]:
    known = [one.keyid for one in ledger.store.keyring().entries if one.keyid in pins]
    return [*reversed(known), *sorted(pins.difference(known))]


def isolation_level(plugins: Plugins) -> str | None:
    """Return the walls of the capsule on this machine, where a capsule is active."""
    if not _has_capsule(plugins):
        return None
    from muniment_plugins.capsule.machine import machine

    return machine().level


def _has_capsule(plugins: Plugins) -> bool:
    offers = [name for name, _ in plugins.implementations("execute_code")]
    return "capsule" in offers


def _isolation(plugins: Plugins) -> Iterator[Check]:
    """Look at what holds untrusted code; say of each missing wall what would bring it."""
    if not _has_capsule(plugins):
        yield Check("isolation", "warn", "no plugin runs untrusted code")
        return
    from muniment_cli.walls import Surroundings, remedies
    from muniment_plugins.capsule.machine import machine

    found = machine()
    passed = sorted(
        key for key, seen in found.probe.items() if seen == "allowed" and key != "stat"
    )
    around = Surroundings.here()
    walls = list(remedies(found.level, found.missing, around, passed))
    is_strong = found.level == "os-strong"
    missing = "" if is_strong else f"; missing: {', '.join(dict(walls))}"
    yield Check("isolation", "ok" if is_strong else "warn", f"{found.level}{missing}")
    for name, remedy in walls:
        yield Check("wall", "warn", f"no {name}", remedy)
    if os.environ.get(FLOOR) is not None:
        yield _floor(found.level)


def _floor(level: str) -> Check:
    """Compare *level* with the floor that the environment sets."""
    from muniment_plugins.capsule.policy import Policy, refuse_beyond

    try:
        refuse_beyond(Policy(), level)
    except MunimentError as error:
        return Check("floor", "bad", f"{error.place}: {error.message}", error.remedy)
    return Check("floor", "ok", f"{os.environ[FLOOR]}, by {FLOOR}")


def open_runs(ledger: Ledger) -> list[str]:
    """Return the runs that began, and have no end yet."""
    ended = {one.run for one in ledger.events(type="run.completed,run.failed")}
    began = [one.run for one in ledger.events(type="run.started")]
    return [run for run in began if run is not None and run not in ended]


def _sqlite(version: tuple[int, int, int]) -> Check:
    text = ".".join(map(str, version))
    fixed = WAL_RESET_BACKPORTS.get(version[:2])
    if version >= WAL_RESET_FIXED or (fixed is not None and version[2] >= fixed):
        return Check("sqlite", "ok", text)
    return Check(
        "sqlite",
        "warn",
        f"{text} is in the range of the WAL-reset bug: two processes that write and "
        "checkpoint at the very same moment may corrupt a file",
        "use a Python with SQLite 3.51.3 or newer (or 3.50.7, 3.44.6)",
    )


def _clock() -> Check:
    now = datetime.now(UTC)
    seen = now.isoformat(timespec="seconds")
    if now.year < BUILT:
        return Check("clock", "bad", seen, "set the clock; events are dated by it")
    return Check("clock", "ok", seen)


def _newest(ledger: Ledger) -> Check:
    """Compare the clock with the newest event, which a wrong clock may have dated."""
    last = ledger.event(ledger.head.size - 1)
    ahead = (last.when - datetime.now(UTC)).total_seconds()
    if ahead > 1:
        return Check(
            "time",
            "bad",
            f"event {last.seq} is dated {ahead:.0f} s in the future",
            "compare this machine's clock, and those of the other writers, with NTP",
        )
    return Check("time", "ok", f"event {last.seq} of {last.time}")


def _home(home: TrustHome) -> Check:
    try:
        refuse_no_home(home.path)
    except MunimentError as error:
        return Check("trust home", "warn", error.message, error.remedy)
    if not home.path.exists():
        return Check("trust home", "ok", f"{home.path} (nothing there yet)")
    mode = stat.S_IMODE(home.path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        return Check(
            "trust home",
            "bad" if mode & 0o022 else "warn",
            f"{home.path} has mode {mode:04o}",
            f"chmod 700 {home.path}",
        )
    return Check("trust home", "ok", str(home.path))


def _keys(directory: Path) -> Iterator[Check]:
    from muniment.keys import load_private

    files = sorted(directory.glob("*.pem")) if directory.is_dir() else []
    for path in files:
        try:
            keyid = load_private(path, follow=False).public.keyid
        except MunimentError as error:
            yield Check("key", "bad", f"{path}: {error.message}", error.remedy)
        else:
            yield Check("key", "ok", f"{path.stem}: {keyid}")
    kept = directory / "writer.pem"
    if not kept.exists() and not os.environ.get("MUNIMENT_KEY"):
        remedy = "`muniment keys request`, and let a root enrol it"
        yield Check("key", "warn", "no key to sign with; the ledger is read", remedy)


def _recovery(directory: Path) -> Check:
    left = sorted(path.name for path in directory.glob("*.pem"))
    if not left:
        return Check("recovery", "ok", "no root key is kept on this machine")
    return Check(
        "recovery",
        "warn",
        f"{', '.join(left)} still in {directory}",
        "move them to two safe places: whoever reads them can enrol keys",
    )


def _head(ledger: Ledger) -> Check:
    size, remembered = ledger.head.size, ledger.home.head(ledger.id)
    if remembered is None:
        seen = f"{count(size, 'event')}, and no memory of them here"
        return Check("head", "warn", seen)
    if remembered.size > size:
        return Check(
            "head",
            "bad",
            f"{count(remembered.size - size, 'event')} fewer than the trust home "
            "remembers",
            "`muniment verify`; restore the newest copy, or `init --continues`",
        )
    return Check(
        "head", "ok", f"{count(size, 'event')}, {remembered.size:,} remembered"
    )


def _checkpoint(ledger: Ledger) -> Check:
    size, covered = ledger.head.size, ledger.store.last_checkpoint()[0]
    seen = f"{covered:,} of {count(size, 'event')} under a signed head"
    if covered < size:
        return Check("checkpoint", "warn", seen, "`muniment checkpoint`")
    return Check("checkpoint", "ok", seen)


def _anchored(ledger: Ledger) -> Check:
    """Say what `status` and `verify` say of it."""
    said = anchored(ledger)
    whole = is_whole(said, ledger.head.size)
    remedy = "" if whole else "`muniment checkpoint`, or `verify --anchor FILE`"
    seen = said.removeprefix("anchored ")
    return Check("anchored", "ok" if whole else "warn", seen, remedy)

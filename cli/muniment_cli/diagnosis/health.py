"""The checks of `status` and `doctor` on this machine and ledger.

Rules: a check says ok, warn or bad, what it saw, and what to do; it repairs nothing. A
check that itself fails is a finding like any other.
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
from muniment.formats.lifecycle import UNFINISHED
from muniment.trust.home_location import refuse_no_home
from muniment_cli.terminal.output import count
from muniment_cli.views.anchor_words import anchored, is_whole

if TYPE_CHECKING:
    from muniment.keys.ed25519 import PublicKey
    from muniment.ledger import Ledger
    from muniment.plugins import Plugins
    from muniment.trust.home import TrustHome

__all__ = [
    "HealthCheck",
    "check_ledger",
    "check_machine",
    "check_plugins",
    "isolation_level",
    "unfinished_runs",
]

WAL_RESET_FIXED = (3, 51, 3)
"""From this version on, and in the branches below, two processes cannot lose a commit
by resetting the write-ahead log at the same moment (sqlite.org/wal.html#walresetbug)."""
WAL_RESET_BACKPORTS = {(3, 44): 6, (3, 50): 7}
WAL_RESET_SINCE = (3, 7, 0)
FLOOR = "MUNIMENT_REQUIRE"
BUILT = 2026
"""No correct clock shows an earlier year."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One check and its result."""

    name: str
    verdict: str
    """``ok``, ``warn`` or ``bad``."""
    seen: str
    remedy: str = ""


def check_machine(home: TrustHome) -> Iterator[HealthCheck]:
    """Check Python, SQLite, the clock and the trust home."""
    version = sys.version_info
    yield HealthCheck(
        "python", "ok", f"{version.major}.{version.minor}.{version.micro}"
    )
    yield _sqlite(sqlite3.sqlite_version_info)
    yield _clock()
    yield _home(home)


def check_plugins(plugins: Plugins) -> Iterator[HealthCheck]:
    """Load every plugin that may load, and ask the capsule for its isolation layers.

    Their declarations are combined: two sound plugins may clash.
    """
    from muniment.events.vocabulary import Vocabulary

    try:
        for name, version in plugins.versions.items():
            hooks = ", ".join(plugins.hooks_of(name)) or "no hook"
            yield HealthCheck("plugin", "ok", f"{name} {version}: {hooks}")
        plugins.declare(Vocabulary().register)
        isolation = list(_isolation(plugins))
    except MunimentError as error:
        seen = f"{error.place}: {error.message}".removeprefix(": ")
        yield HealthCheck("plugin", "bad", seen, error.remedy)
        return
    yield from isolation


def check_ledger(ledger: Ledger) -> Iterator[HealthCheck]:
    """Check the keys, the recovery files, the memory and the anchors of *ledger*."""
    home = ledger.home
    pins = home.pins(ledger.id)
    yield (
        HealthCheck("pin", "ok", ", ".join(_newest_first(ledger, pins)))
        if pins
        else HealthCheck(
            "pin",
            "warn",
            "no key of this ledger is pinned: it is read, not written",
            "`muniment keys trust FINGERPRINT`, as its keeper tells you",
        )
    )
    yield from _keys(ledger)
    yield _recovery(home.recovery_directory(ledger.id))
    yield _newest(ledger)
    yield _head(ledger)
    yield _checkpoint(ledger)
    yield _anchored(ledger)


def _newest_first(ledger: Ledger, pins: frozenset[str]) -> list[str]:
    known = [one.keyid for one in ledger.keys.entries if one.keyid in pins]
    return [*reversed(known), *sorted(pins.difference(known))]


def isolation_level(plugins: Plugins) -> str | None:
    """Return the capsule's isolation level on this machine, if a capsule is active."""
    if not _has_capsule(plugins):
        return None
    from muniment_plugins.capsule.machine import machine

    return machine().level


def _has_capsule(plugins: Plugins) -> bool:
    offers = [name for name, _ in plugins.implementations("execute_code")]
    return "capsule" in offers


def _isolation(plugins: Plugins) -> Iterator[HealthCheck]:
    """Check the isolation of untrusted code; say how to get each missing layer."""
    if not _has_capsule(plugins):
        yield HealthCheck("isolation", "warn", "no plugin runs untrusted code")
        return
    from muniment_cli.diagnosis.layer_advice import MachineFacts, remedies
    from muniment_plugins.capsule.machine import machine

    found = machine()
    passed = sorted(
        key for key, seen in found.probe.items() if seen == "allowed" and key != "stat"
    )
    around = MachineFacts.here()
    layers = list(remedies(found.level, found.missing, around, passed))
    is_strong = found.level == "os-strong"
    missing = "" if is_strong else f"; missing: {', '.join(dict(layers))}"
    yield HealthCheck(
        "isolation", "ok" if is_strong else "warn", f"{found.level}{missing}"
    )
    for name, remedy in layers:
        yield HealthCheck("layer", "warn", f"no {name}", remedy)
    if os.environ.get(FLOOR) is not None:
        yield _floor(found.level)


def _floor(level: str) -> HealthCheck:
    """Compare *level* with the floor that the environment sets."""
    from muniment_plugins.capsule.policy import Policy, refuse_beyond

    try:
        refuse_beyond(Policy(), level)
    except MunimentError as error:
        return HealthCheck(
            "floor", "bad", f"{error.place}: {error.message}", error.remedy
        )
    return HealthCheck("floor", "ok", f"{os.environ[FLOOR]}, by {FLOOR}")


def unfinished_runs(ledger: Ledger) -> dict[str, str]:
    """Return the runs that have no result yet, and their status, as `runs` says it."""
    statuses = ",".join(sorted(UNFINISHED))
    return {one.id: one.status for one in ledger.runs(status=statuses)}


def _sqlite(version: tuple[int, int, int]) -> HealthCheck:
    text = ".".join(map(str, version))
    fixed = WAL_RESET_BACKPORTS.get(version[:2])
    if version >= WAL_RESET_FIXED or (fixed is not None and version[2] >= fixed):
        return HealthCheck("sqlite", "ok", text)
    return HealthCheck(
        "sqlite",
        "warn",
        f"{text} is in the range of the WAL-reset bug: two processes that write and "
        "checkpoint at the very same moment may corrupt a file",
        "use a Python with SQLite 3.51.3 or newer (or 3.50.7, 3.44.6)",
    )


def _clock() -> HealthCheck:
    now = datetime.now(UTC)
    seen = now.isoformat(timespec="seconds")
    if now.year < BUILT:
        return HealthCheck(
            "clock", "bad", seen, "set the clock; events are dated by it"
        )
    return HealthCheck("clock", "ok", seen)


def _newest(ledger: Ledger) -> HealthCheck:
    """Compare the clock with the newest event, which a wrong clock may have dated."""
    last = ledger.event(ledger.head.size - 1)
    ahead = (last.when - datetime.now(UTC)).total_seconds()
    if ahead > 1:
        return HealthCheck(
            "time",
            "bad",
            f"event {last.seq} is dated {ahead:.0f} s in the future",
            "compare this machine's clock, and those of the other writers, with NTP",
        )
    return HealthCheck("time", "ok", f"event {last.seq} of {last.time}")


def _home(home: TrustHome) -> HealthCheck:
    try:
        refuse_no_home(home.path)
    except MunimentError as error:
        return HealthCheck("trust home", "warn", error.message, error.remedy)
    if not home.path.exists():
        return HealthCheck("trust home", "ok", f"{home.path} (nothing there yet)")
    mode = stat.S_IMODE(home.path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        return HealthCheck(
            "trust home",
            "bad" if mode & 0o022 else "warn",
            f"{home.path} has mode {mode:04o}",
            f"chmod 700 {home.path}",
        )
    return HealthCheck("trust home", "ok", str(home.path))


def _keys(ledger: Ledger) -> Iterator[HealthCheck]:
    """Check the keys that are kept here, and the one in the environment."""
    from muniment.keys.ed25519 import load_private
    from muniment.trust.signing_key import KEY_VARIABLE, signer_for

    directory = ledger.home.keys_directory(ledger.id)
    files = sorted(directory.glob("*.pem")) if directory.is_dir() else []
    for path in files:
        try:
            key = load_private(path, follow=False)
        except MunimentError as error:
            yield HealthCheck("key", "bad", f"{path}: {error.message}", error.remedy)
        else:
            yield _enrolled(ledger, path.stem, key.public)
    if os.environ.get(KEY_VARIABLE):
        try:
            given = signer_for(ledger.home, ledger.id)
        except MunimentError as error:
            seen = f"{KEY_VARIABLE}: {error.message}"
            yield HealthCheck("key", "bad", seen, error.remedy)
        else:
            if given is not None:
                yield _enrolled(ledger, KEY_VARIABLE, given.public)
    elif not (directory / "writer.pem").exists():
        seen = "no key to sign with; the ledger is read"
        yield HealthCheck("key", "warn", seen, _ENROL)


_ENROL = "`muniment keys request`, and let a root enrol it"


def _enrolled(ledger: Ledger, name: str, key: PublicKey) -> HealthCheck:
    """Compare a key with the ledger's keyring; all but one should sign events."""
    keyring = ledger.keys
    found = [one for one in keyring.entries if one.keyid == key.keyid]
    if not found:
        what = "no key of this ledger"
    elif all(one.until is not None for one in found):
        what = "no longer a key of this ledger"
    elif name != "checkpoint" and not keyring.may_sign(key.raw, "note.added"):
        what = "no writer's key"
    else:
        return HealthCheck("key", "ok", f"{name}: {key.keyid}")
    return HealthCheck("key", "bad", f"{name}: {key.keyid} is {what}", _ENROL)


def _recovery(directory: Path) -> HealthCheck:
    left = sorted(path.name for path in directory.glob("*.pem"))
    if not left:
        return HealthCheck("recovery", "ok", f"no root key in {directory}")
    return HealthCheck(
        "recovery",
        "warn",
        f"{', '.join(left)} still in {directory}",
        "move them to two safe places: whoever reads them can enrol keys",
    )


def _head(ledger: Ledger) -> HealthCheck:
    size, remembered = ledger.head.size, ledger.home.head(ledger.id)
    if remembered is None:
        seen = f"{count(size, 'event')}, and no memory of them here"
        return HealthCheck("head", "warn", seen)
    if remembered.size > size:
        return HealthCheck(
            "head",
            "bad",
            f"{count(remembered.size - size, 'event')} fewer than the trust home "
            "remembers",
            "`muniment verify`; restore the newest copy, or `init --continues`",
        )
    return HealthCheck(
        "head", "ok", f"{count(size, 'event')}, {remembered.size:,} remembered"
    )


def _checkpoint(ledger: Ledger) -> HealthCheck:
    """Say how much of the log the newest head covers, if the ledger signed it."""
    size, covered = ledger.head.size, 0
    try:
        if (newest := ledger.last_checkpoint) is not None:
            covered = newest.size
            if covered > size or ledger.root(covered) != newest.root:
                seen = "the newest head is not that of this log"
                return HealthCheck("checkpoint", "bad", seen, "`muniment verify`")
    except MunimentError as error:
        seen = f"the newest head does not count ({error.message})"
        return HealthCheck("checkpoint", "bad", seen, "`muniment verify`")
    seen = f"{covered:,} of {count(size, 'event')} under a signed head"
    if covered < size:
        return HealthCheck("checkpoint", "warn", seen, "`muniment checkpoint`")
    return HealthCheck("checkpoint", "ok", seen)


def _anchored(ledger: Ledger) -> HealthCheck:
    """Say how far the log is anchored, as `status` and `verify` do."""
    said = anchored(ledger)
    whole = is_whole(said, ledger.head.size)
    remedy = "" if whole else "`muniment checkpoint`, or `verify --anchor FILE`"
    seen = said.removeprefix("anchored ")
    return HealthCheck("anchored", "ok" if whole else "warn", seen, remedy)

"""The first event: a ledger's keys, its formats, and what it continues.

Rules:

- The ledger's id is the SHA-256 of the genesis payload. The genesis is signed by the
  root, names every first key with a proof of possession over its nonce, and commits to
  the hash of the next root.
- The file is complete before it stands under its name, and its keys are kept: a crash
  leaves no half-made ledger, and nothing is ever written over. Only then the trust home
  remembers the place; opening makes that good after a crash.
- Root and next root go to the recovery directory of the trust home, to be moved away;
  writer and checkpoint keys stay where the ledger finds them. The root is pinned.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from muniment.batch import Draft, build
from muniment.canonical import JsonValue, sha256_tag
from muniment.checkpoint import check_quoted
from muniment.database import create_file, translated
from muniment.errors import MunimentError, RefusedError, StoreError
from muniment.event_types import EventTypes
from muniment.folder import Folder, real_place
from muniment.formats import FORMATS
from muniment.heads import Head
from muniment.imports import refuse_importing
from muniment.keyentries import enrolment, genesis_context, next_root_commitment
from muniment.keys import PrivateKey, save_private
from muniment.migrations import migrate
from muniment.signing import Signer
from muniment.tree import Tail
from muniment.trust import TrustHome
from muniment.vocabulary import KERNEL_TYPES

__all__ = ["Born", "Keys", "create_ledger"]

_IGNORED = ".gitignore"


@dataclass(frozen=True, slots=True)
class Keys:
    """The first keys of a ledger."""

    root: PrivateKey
    next_root: PrivateKey
    writer: Signer
    checkpoint: PrivateKey

    @classmethod
    def generate(cls, writer: Signer | None = None) -> Keys:
        """Return fresh keys, around a *writer* that exists already where given."""
        generate = PrivateKey.generate
        return cls(generate(), generate(), writer or generate(), generate())


@dataclass(frozen=True, slots=True)
class Born:
    """A ledger that was just made."""

    ledger_id: str
    fingerprint: str
    """The root's key id: what others pin."""
    recovery: Path
    """The directory with the root keys, to be moved away."""


def create_ledger(
    path: Path,
    home: TrustHome,
    *,
    writer: Signer | None = None,
    continues: Mapping[str, JsonValue] | None = None,
    actor: str = "local",
    step: Callable[[str], None] = lambda _label: None,
) -> Born:
    """Make a ledger file at *path*, keep its keys in *home* and pin its root.

    Args:
        path: the file to make, as it was written.
        home: keeps the keys.
        writer: signs events instead of a fresh key.
        continues: id, last checkpoint and reason, when this succeeds a ledger.
        actor: who makes it.
        step: called with the name of each step; crash tests kill there.

    Raises:
        RefusedError: something is there, or the trust home remembers a ledger there.
        StoreError: the file cannot be written there.
        WrongError: *continues* quotes no checkpoint of the ledger that it names.

    """
    refuse_importing()
    written, path = path, real_place(path)
    _refuse_known(written, home)
    check_quoted(None if continues is None else dict(continues))
    keys = Keys.generate(writer)
    _prepare_directory(path)
    path = real_place(written)  # of directories that were not there before, too
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    kept: Path | None = None
    try:
        ledger_id, head = _write(partial, keys, continues, actor)
        step("written")
        kept = home.keys_directory(ledger_id, create=True).parent
        _keep_keys(home, ledger_id, keys, writer is None)
        step("keys kept")
        _pin(home, ledger_id, keys.root.public.keyid, head)
        step("pinned")
        _publish(partial, path)
    except MunimentError:
        if kept is not None:
            shutil.rmtree(kept, ignore_errors=True)  # of a ledger that never was
        raise
    finally:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):  # the fault that led here is told, not this one
                Path(f"{partial}{suffix}").unlink(missing_ok=True)
    step("published")
    home.remember(written, ledger_id)
    step("remembered")
    return Born(ledger_id, keys.root.public.keyid, home.recovery_directory(ledger_id))


def _refuse_known(path: Path, home: TrustHome) -> None:
    if os.path.lexists(path):  # false where the name is too long
        raise RefusedError(
            "there is a file already",
            rule="ledger/exists",
            place=str(path),
            remedy="choose another path; muniment never writes over a ledger",
        )
    known = home.ledger_at(path)
    if known is not None:
        raise RefusedError(
            f"the trust home remembers a ledger here ({known[:19]}…), "
            "and its file is gone",
            rule="trust/location",
            place=str(path),
            remedy=f"restore it, or give it up with `muniment forget {path}`",
        )


def _prepare_directory(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.name == ".muniment":
            with Folder.at(path.parent) as folder:
                _keep_out_of_git(folder)
    except OSError as error:
        raise _unwritable(Path(error.filename or path.parent), error) from error


def _keep_out_of_git(folder: Folder) -> None:
    """Make the ``.gitignore``, unless a file is there already: it stays as it is."""
    try:
        folder.create(_IGNORED, [b"*\n"], mode=0o644)
    except FileExistsError:
        folder.regular(_IGNORED)


def _unwritable(path: Path, error: OSError) -> StoreError:
    if error.errno == errno.ENAMETOOLONG:
        return StoreError(
            "no ledger can be made under a name this long",
            rule="store/unreadable",
            place=str(path),
            remedy="choose a shorter path",
        )
    return StoreError(
        f"no ledger can be made here ({error.strerror})",
        rule="store/full" if error.errno == errno.ENOSPC else "store/read-only",
        place=str(path),
        remedy="make the directory writable and make room, or choose another path",
    )


def _write(
    partial: Path,
    keys: Keys,
    continues: Mapping[str, JsonValue] | None,
    actor: str,
) -> tuple[str, Head]:
    prepared = (
        EventTypes(KERNEL_TYPES).get("ledger.opened").prepare(_data(keys, continues))
    )
    tail = Tail()
    batch = build([Draft(prepared, actor)], tail, keys.root, None)
    with translated(str(partial)), _new_file(partial) as raw:
        raw.execute("BEGIN IMMEDIATE")
        migrate(raw.execute, str(partial))
        raw.executemany(
            "INSERT INTO event (seq, type, run, payload, signature, key, hash) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            batch.rows,
        )
        raw.execute("COMMIT")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    _sync(partial)
    return sha256_tag(batch.events[0].payload), Head(1, tail.hash)


@contextmanager
def _new_file(partial: Path) -> Generator[sqlite3.Connection]:
    try:
        with Folder.at(partial.parent) as folder:
            folder.create(partial.name, [], mode=0o644, sync=False)
    except OSError as error:
        raise _unwritable(partial, error) from error
    with closing(create_file(partial)) as raw:
        yield raw


def _sync(file: Path) -> None:
    try:
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
    except OSError as error:
        raise _unwritable(file, error) from error


def _data(
    keys: Keys, continues: Mapping[str, JsonValue] | None
) -> dict[str, JsonValue]:
    nonce = secrets.token_hex(32)
    context = genesis_context(nonce)
    data: dict[str, JsonValue] = {
        "formats": dict[str, JsonValue](FORMATS),
        "keys": [
            enrolment(keys.root, ["root"], context, "root"),
            enrolment(keys.writer, ["writer"], context, "writer"),
            enrolment(keys.checkpoint, ["checkpoint"], context, "checkpoint"),
        ],
        "next_root": next_root_commitment(keys.next_root.public),
        "nonce": nonce,
    }
    if continues is not None:
        data["continues"] = dict(continues)
    return data


def _keep_keys(home: TrustHome, ledger_id: str, keys: Keys, own_writer: bool) -> None:
    kept = home.keys_directory(ledger_id, create=True)
    recovery = home.recovery_directory(ledger_id, create=True)
    save_private(kept / "checkpoint.pem", keys.checkpoint)
    if own_writer and isinstance(keys.writer, PrivateKey):
        save_private(kept / "writer.pem", keys.writer)
    save_private(recovery / "root.pem", keys.root)
    save_private(recovery / "next-root.pem", keys.next_root)


def _pin(home: TrustHome, ledger_id: str, keyid: str, head: Head) -> None:
    home.pin(ledger_id, keyid)
    with home.head_memory(ledger_id) as memory:
        memory.advance(head.size, head.hash)
        memory.sync()


def _publish(partial: Path, path: Path) -> None:
    """Give the complete file its name, unless somebody took the name meanwhile."""
    try:
        with Folder.at(path.parent) as folder:
            try:
                folder.link(partial.name, path.name)
            except FileExistsError:
                raise RefusedError(
                    "somebody made a ledger here at the same moment",
                    rule="ledger/exists",
                    place=str(path),
                    remedy="use that one",
                ) from None
            except OSError:  # a file system without hard links
                folder.rename(partial.name, path.name)
            folder.sync()
    except OSError as error:
        raise _unwritable(path, error) from error

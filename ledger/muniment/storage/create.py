"""The first event: a ledger's keys, its formats, and the ledger that it continues.

Rules:

- The ledger's id is the SHA-256 of the genesis payload. The genesis is signed by the
  root, names every first key with a proof of possession over its nonce, and commits to
  the hash of the next root.
- The file is complete and its keys are stored before it gets its name: a crash leaves
  no half-made ledger, and nothing is ever overwritten. Only then does the trust home
  remember the place; after a crash, opening does that.
- Root and next root go to the recovery directory of the trust home, for the user to
  move away; writer and checkpoint keys stay where the ledger finds them. The root is
  pinned.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.errors import MunimentError, RefusedError, StoreError
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import EventTypes
from muniment.files.folder import Folder, real_place
from muniment.format_versions import FORMATS
from muniment.formats.checkpoint import check_quoted
from muniment.formats.dsse import Signer
from muniment.keys.ed25519 import PrivateKey, save_private
from muniment.keys.enrolment import enrolment, genesis_context, next_root_commitment
from muniment.programs.import_guard import refuse_importing
from muniment.storage.connections import filling, translated
from muniment.storage.schema import migrate
from muniment.storage.sealing import Draft, build
from muniment.storage.tail import Tail
from muniment.trust.head_memory import Head
from muniment.trust.home import TrustHome
from muniment.trust.ledger_location import rememberable

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
    def generate(cls, writer: Signer | None = None, algorithm: str = "ed25519") -> Keys:
        """Return fresh keys, with the given *writer* if it exists already.

        Those of checkpoints are Ed25519 always: signed notes know nothing else for logs.
        """
        root, following = (PrivateKey.generate(algorithm) for _ in range(2))
        own = writer or PrivateKey.generate(algorithm)
        return cls(root, following, own, PrivateKey.generate())


@dataclass(frozen=True, slots=True)
class Born:
    """A ledger that was just made."""

    ledger_id: str
    fingerprint: str
    """The root's key id, for others to pin."""
    recovery: Path
    """The directory with the root keys, for the user to move away."""


def create_ledger(  # noqa: PLR0913 - keyword-only, each with a default
    path: Path,
    home: TrustHome,
    *,
    writer: Signer | None = None,
    continues: Mapping[str, JsonValue] | None = None,
    actor: str = "local",
    algorithm: str = "ed25519",
    step: Callable[[str], None] = lambda _label: None,
) -> Born:
    """Make a ledger file at *path*, keep its keys in *home* and pin its root.

    Args:
        path: the file to make, as the user wrote it.
        home: keeps the keys.
        writer: signs events instead of a fresh key.
        continues: id, last checkpoint and reason, if this ledger succeeds another.
        actor: the user who makes it.
        algorithm: of the fresh keys, but for that of checkpoints.
        step: called with the name of each step; crash tests kill there.

    Raises:
        RefusedError: something is there, or the trust home remembers a ledger there.
        UsageError: the trust home cannot remember a ledger there.
        StoreError: the file cannot be written there.
        WrongError: *continues* quotes no checkpoint of the ledger that it names.

    """
    refuse_importing()
    written, path = path, real_place(path)
    _refuse_known(written, home)
    check_quoted(None if continues is None else dict(continues))
    keys = Keys.generate(writer, algorithm)
    _prepare_directory(path)
    path = real_place(written)  # also if its directories were made just now
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
            with suppress(OSError):  # report the first error, not this one
                Path(f"{partial}{suffix}").unlink(missing_ok=True)
    step("published")
    home.remember(written, ledger_id)
    step("remembered")
    return Born(ledger_id, keys.root.public.keyid, home.recovery_directory(ledger_id))


def _refuse_known(path: Path, home: TrustHome) -> None:
    rememberable(path)  # or it is refused before anything is made
    if os.path.lexists(path):  # false if the name is too long
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
    """Make the ``.gitignore``; a file that is there already stays as it is."""
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
    with filling(partial) as raw:
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
    """Give the complete file its name, unless the name was taken meanwhile."""
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

"""``muniment compare``: tells whether two histories of one ledger agree or fork."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import CannotTellError, WrongError
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import count, fields, hint, prose, say, show_json

if TYPE_CHECKING:
    from muniment.copies.histories import Comparison, Given, Side
    from muniment.keys.keyring import Keyring

__all__ = ["command"]

_SQLITE = b"SQLite format 3\0"


@click.command(
    epilog=examples(
        "muniment compare .muniment/ledger.db /mnt/auditor/copy.db",
        "muniment compare .muniment/ledger.db head-of-friday.note",
    )
)
@click.argument("a")
@click.argument("b")
@json_option
@pass_session
def command(session: Session, a: str, b: str, as_json: bool) -> int:
    """Show that A and B, ledgers or checkpoint notes, have one history.

    If they do, prints the consistency proof. If not, prints both signed tree heads,
    which nobody can explain away, and exits 1. Compares only what the files say: run
    `muniment verify` on each to check the file itself.
    """
    from muniment.copies.histories import compare_histories, size_of

    with ExitStack() as open_stores:
        sides = [_side(open_stores, one) for one in (a, b)]
        further = _further_keys(session, sides)
        found = compare_histories(sides[0], sides[1], further)
        longer = a if size_of(sides[0]) == found.newer.size else b
    if as_json:
        show_json(_document(found))
    elif found.verdict in ("same", "consistent"):
        _show_agreement(found, longer)
    else:
        _show_difference(found)
    return 0 if found.verdict in ("same", "consistent") else 1


def _side(open_stores: ExitStack, name: str) -> Given:
    from muniment.copies.histories import open_history
    from muniment.places import sqlite_path

    path = sqlite_path(name)
    if path.is_file():
        data = _read(path)
        if not data.startswith(_SQLITE):
            return _note(data, path)
    return open_stores.enter_context(open_history(path))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(1_000_000)
    except OSError as error:
        raise CannotTellError(
            f"the file cannot be read ({error.strerror})",
            rule="compare/unreadable",
            place=str(path),
            remedy="check the permissions",
        ) from error


def _note(data: bytes, path: Path) -> bytes:
    from muniment.formats.checkpoint import Checkpoint, Note

    try:
        Checkpoint.parse(Note.parse(data).text)
    except WrongError as error:
        raise CannotTellError(
            f"neither a ledger nor a checkpoint note ({error.message})",
            rule="compare/format",
            place=str(path),
            remedy="give a ledger.db, or what `muniment checkpoint` printed",
        ) from None
    return data


def _further_keys(session: Session, sides: list[Given]) -> Keyring | None:
    """Return the keys of the ledger at hand, if both sides are notes."""
    if not all(isinstance(one, bytes) for one in sides):
        return None
    try:
        session.place()
    except CannotTellError:
        return None
    with session.open() as ledger:
        return ledger.keys


def _show_agreement(found: Comparison, longer: str) -> None:
    older, newer = found.older, found.newer
    if found.verdict == "same":
        prose(f"same: {count(older.size, 'event')}, one root", "green")
    else:
        first = count(older.size, "event")
        more = newer.size - older.size
        prose(f"consistent: {first} in common, {more} more in {longer}", "green")
    roots = {older.size: older.root, newer.size: newer.root}
    fields(
        [
            ("ledger", newer.origin),
            *((f"root of {size}", root.hex()) for size, root in roots.items()),
            *((f"proof {i}", one.hex()) for i, one in enumerate(found.proof)),
        ]
    )


def _show_difference(found: Comparison) -> None:
    if found.verdict == "foreign":
        prose("different: these are two ledgers, not two histories of one", "bold red")
        fields([("one", found.older.origin), ("other", found.newer.origin)])
        return
    prose("fork: two histories of one ledger", "bold red")
    if found.first_difference is not None:
        prose(f"the first event that differs is number {found.first_difference}")
    for side in (found.older, found.newer):
        say()
        _show_side(side)
    if found.root_at is not None:
        say()
        fields(
            [
                (f"the longer one's root of {found.older.size}", found.root_at.hex()),
                *((f"proof {i}", one.hex()) for i, one in enumerate(found.proof)),
            ]
        )
    hint("Keep both files and both notes: the signatures are the evidence.")


def _show_side(side: Side) -> None:
    signer = side.signer or "a key that is not known here"
    pairs = [("events", f"{side.size:,}"), ("root", side.root.hex())]
    pairs.append(("signed by", "nobody" if side.note is None else signer))
    if side.note is not None:
        pairs.append(("note", side.note.decode().rstrip("\n")))
    fields(pairs)


def _document(found: Comparison) -> dict[str, object]:
    return {
        "first_difference": found.first_difference,
        "newer": _side_document(found.newer),
        "older": _side_document(found.older),
        "proof": list(found.proof),
        "root_at": found.root_at,
        "verdict": found.verdict,
    }


def _side_document(side: Side) -> dict[str, object]:
    return {
        "note": None if side.note is None else side.note.decode(),
        "origin": side.origin,
        "root": side.root,
        "signer": side.signer,
        "size": side.size,
    }

"""``muniment checkpoint``: the signed tree head, made and carried away."""

from __future__ import annotations

import os
from pathlib import Path

import click

from muniment.errors import CannotTellError, KeyRefused
from muniment_cli.context import Session, pass_session
from muniment_cli.options import examples, json_option
from muniment_cli.output import count, hint, say, show_json

__all__ = ["command"]


@click.command(epilog=examples("muniment checkpoint -o head.note"))
@click.option(
    "--publish",
    is_flag=True,
    help="Publish the note again, also if nothing was appended since the last.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the note to this file, whole or not at all.",
)
@json_option
@pass_session
def command(session: Session, publish: bool, output: Path | None, as_json: bool) -> int:
    """Sign the tree of all events, anchor it, and print the note.

    The note is a C2SP signed note: give it to others, and `verify --anchor` will notice
    whatever is changed or cut from then on.
    """
    from muniment.checkpoint import Checkpoint, Note

    with session.open(write=True) as ledger:
        before = ledger.store.last_checkpoint()[0]
        note = ledger.checkpoint()
        read = None if note is None else Checkpoint.parse(Note.parse(note).text)
        if note is None or read is None or read.size < ledger.head.size:
            raise KeyRefused(
                "there is no checkpoint key of this ledger here",
                rule="key/none",
                place=str(ledger.path),
                remedy="use the trust home that made it; `muniment keys list` shows "
                "whose keys it has",
            )
        if publish:
            ledger.store.published(note)
    if output is not None:
        write_whole(output, note)
    if as_json:
        show_json(
            {
                "note": note.decode(),
                "origin": read.origin,
                "root": read.root.hex(),
                "size": read.size,
            }
        )
    else:
        say(note.decode().rstrip("\n") if output is None else str(output))
        done = "signed" if read.size > before else "signed before this"
        hint(f"{count(read.size, 'event')}, {done}")
    return 0


def write_whole(file: Path, note: bytes) -> None:
    """Put *note* in the place of *file*, whole: half a note would blind who compares.

    Raises:
        CannotTellError: it cannot be written there.

    """
    partial = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        partial.write_bytes(note)
        partial.replace(file)
    except OSError as error:
        raise CannotTellError(
            f"the note cannot be written ({error.strerror})",
            rule="checkpoint/output",
            place=str(file),
            remedy="give a file in a directory that you may write to",
        ) from error

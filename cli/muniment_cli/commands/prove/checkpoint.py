"""``muniment checkpoint``: makes the signed tree head, and exports it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from muniment.errors import CannotTellError, KeyRefused
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import count, hint, say, show_json

__all__ = ["command"]


@click.command(epilog=examples("muniment checkpoint -o head.note"))
@click.option(
    "--publish",
    is_flag=True,
    help="Publish the note again, even if nothing was appended since.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the whole note to this file, or nothing.",
)
@json_option
@pass_session
def command(session: Session, publish: bool, output: Path | None, as_json: bool) -> int:
    """Sign the tree of all events, anchor it, and print the note.

    The note is a C2SP signed note: give it to others, and `verify --anchor` will notice
    any later change or truncation.
    """
    from muniment.formats.checkpoint import Checkpoint, Note

    with session.open(write=True) as ledger:
        before = ledger.checkpointed
        note = ledger.checkpoint(publish=publish)
        read = None if note is None else Checkpoint.parse(Note.parse(note).text)
        if note is None or read is None or read.size < ledger.head.size:
            raise KeyRefused(
                "there is no checkpoint key of this ledger here",
                rule="key/none",
                place=str(ledger.path),
                remedy="use the trust home that made it; `muniment keys list` shows "
                "whose keys it has",
            )
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
    """Replace *file* by *note* as a whole: half a note would blind a comparison.

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

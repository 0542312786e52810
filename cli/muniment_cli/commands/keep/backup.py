"""``muniment backup``: a consistent copy, while writers run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.new_places import require_parent
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.advice import quoted
from muniment_cli.terminal.output import count, hint, say, show_json
from muniment_cli.terminal.progress import progress

__all__ = ["command"]


@click.command(
    epilog=examples("muniment backup /mnt/safe/friday.db", "muniment backup /mnt/safe/")
)
@click.argument("dest", type=click.Path())
@json_option
@pass_session
def command(session: Session, dest: str, as_json: bool) -> int:
    """Copy the ledger to DEST, a new file or a directory; nothing is overwritten.

    A directory is made if it is missing, but nothing above it. Keys are
    not in the copy: they are in the trust home.
    """
    from muniment.copies.backup import copy_ledger

    require_parent(Path(dest))
    with session.open() as ledger:
        inside = Path(dest).is_dir() or dest.endswith(("/", os.sep))
        target = Path(dest) / ledger.path.name if inside else Path(dest)
        with progress("copying") as advance:
            elsewhere = ledger.home.blobs_of(ledger.path)
            copied = copy_ledger(ledger.path, target, advance, elsewhere)
    if as_json:
        show_json(copied)
    else:
        beside = f", {count(copied.contents, 'blob')} beside" if copied.contents else ""
        say(f"{copied.path}: {count(copied.size, 'event')}{beside}")
        hint(f"check it with `muniment verify {quoted(str(copied.path))}`")
    return 0

"""``muniment demo``: the tour."""

from __future__ import annotations

from pathlib import Path

import click

from muniment_cli.options import examples

__all__ = ["command"]


@click.command(epilog=examples("muniment demo", "muniment demo tour"))
@click.argument("directory", required=False, type=click.Path(path_type=Path))
def command(directory: Path | None) -> int:
    """Take the tour in DIRECTORY (a new temporary one, without it).

    Makes a ledger with keys of its own, runs an experiment, looks at it, replays,
    proves and verifies it, tampers with copies and shows how each is caught. Needs no
    network, and can be taken again.
    """
    from muniment_cli import demo

    return demo.tour(demo.place_of(directory))

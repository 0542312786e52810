"""``muniment demo``: the tour."""

from __future__ import annotations

from pathlib import Path

import click

from muniment_cli.shell.options import examples

__all__ = ["command"]


@click.command(epilog=examples("muniment demo", "muniment demo tour"))
@click.argument("directory", required=False, type=click.Path(path_type=Path))
def command(directory: Path | None) -> int:
    """Take the tour in DIRECTORY (default: a new temporary one).

    Makes a ledger with its own keys, runs an experiment, looks at it, replays,
    proves and verifies it, tampers with copies and shows how each is caught. Needs no
    network, and can be repeated.
    """
    from muniment_cli.tour import demo, place

    return demo.tour(place.place_of(directory))

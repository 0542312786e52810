"""Writes what each command does into docs/reference/commands.md.

    python tools/command_table.py            writes the table

Rules: the table stands between two markers and comes from the commands' own help.
`make docs` calls it; a test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from muniment_cli.shell.group import command_line

__all__ = ["BEGIN", "END", "PAGE", "commands", "main", "table"]

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
BEGIN, END = "<!-- commands: tools/command_table.py -->\n", "<!-- /commands -->\n"

_HEAD = "| command | |\n|---|---|\n"
_WIDTH = 120


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield each command that can be called, with the first sentence of its help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, f"{before}{name} ")
        elif found is not None and not found.hidden:
            yield f"{before}{name}", found.get_short_help_str(_WIDTH)


def table() -> str:
    """Return the table."""
    rows = (f"| `{name}` | {said} |\n" for name, said in commands(command_line()))
    return "".join([_HEAD, *rows])


def main() -> int:
    """Write the table; return the exit code."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Each command has its line on a page, and each that a page names exists."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest

from muniment_cli.shell.group import command_line

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import command_table  # noqa: E402 - by the line above

PAGES = [
    ROOT / "README.md",
    *(one for one in (ROOT / "docs").rglob("*.md") if "adr" not in one.parts),
]
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
CALLED = re.compile(
    r"(?:^|[`$(|] ?)muniment ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)", re.MULTILINE
)


def test_every_command_has_its_line() -> None:
    """A new command is in the table, in the words of its help: `make docs`."""
    written = command_table.PAGE.read_text().partition(command_table.BEGIN)[2]
    page = written.partition(command_table.END)[0].strip()
    assert page == command_table.table().strip()


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_every_command_of_a_page_exists(page: Path) -> None:
    """What a page tells its readers to type is a command, and one of its group."""
    known = command_line()
    context = click.Context(known)
    for block in CODE.findall(page.read_text()):
        for typed in CALLED.findall(block):
            name, _, more = typed.partition(" ")
            found = known.get_command(context, name)
            assert found is not None, f"muniment {typed}"
            if isinstance(found, click.Group) and more:
                assert more in found.commands, f"muniment {typed}"


def test_the_pages_name_commands() -> None:
    """The control: most commands are typed somewhere on the pages."""
    blocks = [one for page in PAGES for one in CODE.findall(page.read_text())]
    typed = {one.split()[0] for block in blocks for one in CALLED.findall(block)}
    assert len(typed) > 15

"""The form of answers: tables and trees for people, JSON for machines.

Rules:

- Answers go to stdout, everything else to stderr.
- Colour if stdout is a terminal, and neither ``--no-color`` nor ``NO_COLOR`` says
  otherwise; then there is no escape sequence at all.
- On a terminal nothing that has words or cells is longer than a line. Without one
  tables are plain columns, never cut.
- The contents of a ledger are data: anything that a terminal would act on is escaped
  (`muniment.encoding.visible`), in JSON always, and no markup in it is interpreted.
- rich is imported only for a terminal.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import click

from muniment.encoding.visible import clean, escaped_json
from muniment_cli.shell.context import Session
from muniment_cli.terminal.advice import advised
from muniment_cli.terminal.fitting import Give, breaks, columns, ending, shares
from muniment_cli.terminal.json_text import json_text

if TYPE_CHECKING:
    from rich.align import AlignMethod
    from rich.console import Console
    from rich.text import Text

__all__ = [
    "Cell",
    "age",
    "allows_colour",
    "clean",
    "complain",
    "console",
    "count",
    "fields",
    "fitted",
    "hint",
    "interactive",
    "narrow",
    "one_line",
    "prose",
    "say",
    "show_json",
    "show_jsonl",
    "styled",
    "table",
    "when",
]

Cell = str | tuple[str, str] | list[tuple[str, str]]
"""A text, a text with its rich style (``("wrong", "bold red")``), or several."""

WIDE = 100
GAP = 2
MOST_BROKEN = 24
"""If fewer columns are left beside a name, its value goes below it."""
_AT_THE_END: Mapping[str, Give] = {}


def interactive() -> bool:
    """Tell whether stdout is a terminal."""
    return sys.stdout.isatty()


def allows_colour() -> bool | None:
    """Return False if the user wants no colour; None leaves it to the terminal."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and ctx.find_root().color is not None:
        return ctx.find_root().color
    return False if os.environ.get("NO_COLOR") else None


def narrow(below: int = WIDE) -> bool:
    """Tell whether whole ids and times would break a table on this terminal."""
    return interactive() and _terminal_width() < below


def fitted(line: str) -> str:
    """Return *line*, cut if it does not fit on a terminal's line."""
    most = _terminal_width()
    if not interactive() or len(line) <= most:
        return line
    return line[: most - 1] + "…"


def say(text: object = "", style: str = "") -> None:
    """Print *text* to stdout, in a rich *style* on a terminal."""
    if style and interactive():
        console().print(styled((str(text), style)), soft_wrap=True)
    else:
        click.echo(clean(text))


def one_line(text: str) -> str:
    """Return *text* with its line breaks shown."""
    return text.replace("\n", "\\n")


def prose(text: str, style: str = "") -> None:
    """Print a sentence; indent the lines after its first."""
    indent = " " * (len(text) - len(text.lstrip()) + 2 * GAP)
    if not interactive():
        click.echo(clean(text).replace("\n", f"\n{indent}"))
        return
    shown = _broken(styled((text, style)), _terminal_width() - len(indent))
    console().print(styled(f"\n{indent}").join(shown), soft_wrap=True)


def hint(*lines: str) -> None:
    """Print a remark to stderr, each of its *lines* at the left edge."""
    ctx = click.get_current_context(silent=True)
    session = None if ctx is None else ctx.find_object(Session)
    url = None if session is None else session.ledger_url
    for line in lines:
        shown = _set_in(clean(advised(line, url)))
        click.secho(shown, dim=True, err=True, color=allows_colour())


def complain(word: str, message: str, *, plain: bool = False) -> None:
    """Print one line ``word: message`` to stderr, *plain* means without colours."""
    colour = "red" if word == "error" else "yellow"
    label = click.style(f"{word}:", fg=colour, bold=True)
    colours = False if plain else allows_colour()
    click.echo(f"{label} {_set_in(clean(message))}", err=True, color=colours)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Sequence[str] = (),
    gives: Mapping[str, Give] = _AT_THE_END,
    upright: bool = False,
    sparse: bool = False,
) -> None:
    """Print a table.

    Args:
        headings: one for each column.
        rows: as many cells each.
        right: the headings whose columns are numbers; these are never cut.
        gives: how the other columns shrink if a terminal is too narrow; a column that
            is not named is cut at its end.
        upright: if a terminal is too narrow, print each row as `fields` instead; a
            table that does not fit at all is always printed so.
        sparse: leave empty cells out of these fields.

    """
    lines: list[list[Cell]] = [[(one_line(one), "bold") for one in headings]]
    lines += ([_one_line(cell) for cell in row] for row in rows)
    widths = [max(map(_columns, column)) for column in zip(*lines, strict=True)]
    aligned = ["right" if heading in right else "left" for heading in headings]
    if not interactive():
        for line in lines:
            click.echo(_plain_line(line, widths, aligned))
        return
    ways: list[Give] = [
        "never" if heading in right else gives.get(heading, "end")
        for heading in headings
    ]
    fitting, gap = _fitting(widths, ways, upright=upright)
    if fitting is None:
        _show_upright(headings, lines[1:], sparse=sparse)
        return
    screen = console()
    for line in lines:
        cells = [_cut(*one) for one in zip(line, fitting, ways, aligned, strict=True)]
        whole = styled(" " * gap).join(cells)
        whole.rstrip()
        screen.print(whole, soft_wrap=True)


def _fitting(
    widths: Sequence[int], ways: Sequence[Give], *, upright: bool
) -> tuple[list[int] | None, int]:
    """Return the widths of the columns, if they fit, and of the gaps between them."""
    room, gaps = _terminal_width(), len(widths) - 1
    if sum(widths) + GAP * gaps <= room:
        return list(widths), GAP
    if upright:
        return None, GAP
    given = shares(widths, ways, room - GAP * gaps)
    if given is None or _is_cut(widths, given, ways):
        return shares(widths, ways, room - gaps), 1  # smaller gaps show more
    return given, GAP


def _is_cut(widths: Sequence[int], given: list[int], ways: Sequence[Give]) -> bool:
    """Tell whether more is cut than the column that shrinks first."""
    cut = (at for at, width in enumerate(widths) if given[at] < width)
    return any(ways[at] in ("end", "start") for at in cut)


def fields(pairs: Iterable[tuple[str, Cell]]) -> None:
    """Print names and values below each other.

    The lines of a value start to the right of the names, so that none of them can pass
    for a row.
    """
    listed = [(clean(one_line(name)), value) for name, value in pairs]
    width = max((len(name) for name, _ in listed), default=0) + GAP
    if not interactive():
        for name, value in listed:
            lines = clean(_text(value)).split("\n")
            click.echo(f"{name:<{width}}" + f"\n{' ' * width}".join(lines))
        return
    screen = console()
    for name, value in listed:
        label = styled((f"{name:<{width}}", "dim"))
        screen.print(_beside(label, styled(value)), soft_wrap=True)


def _beside(label: Text, value: Text) -> Text:
    """Return *value* to the right of *label*; below it if that keeps words whole.

    The terminal wraps a word longer than a line, so that it is copied whole.
    """
    most, indent = _terminal_width(), label.cell_len
    words = [columns(word) for word in value.plain.split()]
    room = MOST_BROKEN if len(words) > 1 else 0
    longest = max([room, *words])
    hopeless = len(words) == 1 and longest + 2 * GAP > most
    if indent + longest > most and indent + value.cell_len > most and not hopeless:
        label.rstrip()
        indent = 2 * GAP  # some names are indented
        label.append("\n" + " " * indent)
    return label + styled("\n" + " " * indent).join(_broken(value, most - indent))


def _broken(text: Text, room: int) -> list[Text]:
    """Return the lines of *text*, each divided between words."""
    parts = [
        part
        for line in text.split("\n", allow_blank=True)
        for part in line.divide(breaks(line.plain, room))
    ]
    for part in parts:
        part.rstrip()
    return parts


def styled(cell: Cell) -> Text:
    """Return *cell* as rich text; nothing in it is markup."""
    from rich.text import Text

    return Text.assemble(*((clean(text), style) for text, style in _spans(cell)))


def console() -> Console:
    """Return the rich console of stdout, for trees and the like."""
    from rich.console import Console

    class _Console(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the only place that handles it."""
            raise BrokenPipeError

    return _Console(
        color_system=None if allows_colour() is False else "auto",
        highlight=False,
        markup=False,
        emoji=False,
        width=None if interactive() else 1000,
    )


def show_json(value: object) -> None:
    """Print *value* as the only document of the answer."""
    _write_json(json_text(value, indent=2))


def show_jsonl(values: Iterable[object]) -> None:
    """Print *values* as they come, each on a line of its own."""
    for value in values:
        _write_json(json_text(value))
        sys.stdout.flush()


def count(number: int, noun: str) -> str:
    """Return ``1 event``, ``1,234 events``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def when(text: str) -> str:
    """Return an event's time to the second."""
    return text[:19] + "Z" if len(text) > len("2026-11-20T07:23:41Z") else text


def age(text: str, now: datetime | None = None) -> str:
    """Return how long ago an RFC 3339 time was: ``12 s ago``, ``3 h ago``."""
    seconds = (
        (now or datetime.now(UTC)) - datetime.fromisoformat(text)
    ).total_seconds()
    if seconds < 0:
        return "in the future"
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return f"{int(seconds)} s ago" if seconds >= 1 else "just now"


def _set_in(text: str) -> str:
    """Return *text* with the lines after its first indented."""
    begun = len(text) - len(text.lstrip("\n"))
    return text[:begun] + text[begun:].replace("\n", "\n" + " " * 2 * GAP)


def _one_line(cell: Cell) -> Cell:
    return [(one_line(text), style) for text, style in _spans(cell)]


def _columns(cell: Cell) -> int:
    return columns(clean(_text(cell)))


def _show_upright(
    headings: Sequence[str], rows: list[list[Cell]], *, sparse: bool
) -> None:
    width = max(map(len, headings), default=0)
    for position, row in enumerate(rows):
        if position:
            say()
        fields(
            (f"{name:<{width}}", cell)
            for name, cell in zip(headings, row, strict=True)
            if not sparse or _text(cell)
        )


def _plain_line(line: Sequence[Cell], widths: list[int], aligned: list[str]) -> str:
    texts: list[str] = []
    for cell, width, side in zip(line, widths, aligned, strict=True):
        text, room = clean(_text(cell)), " " * (width - _columns(cell))
        texts.append(room + text if side == "right" else text + room)
    return (" " * GAP).join(texts).rstrip()


def _cut(cell: Cell, width: int, way: Give, side: str) -> Text:
    """Return *cell* as wide as its column."""
    text = styled(cell)
    if text.cell_len > width and way == "start":
        text = styled((ending(text.plain, width), _spans(cell)[0][1]))
    text.truncate(width, overflow="crop" if isinstance(way, int) else "ellipsis")
    text.align(cast("AlignMethod", side), width)
    return text


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns


def _write_json(text: str) -> None:
    # No ledger has a lone surrogate; a path may have one, which must not end a stream.
    click.echo(escaped_json(text).encode("utf-8", "backslashreplace"))


def _text(cell: Cell) -> str:
    return "".join(text for text, _ in _spans(cell))


def _spans(cell: Cell) -> list[tuple[str, str]]:
    if isinstance(cell, str):
        return [(cell, "")]
    return [cell] if isinstance(cell, tuple) else cell

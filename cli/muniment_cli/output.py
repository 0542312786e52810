"""How answers look: tables and trees for people, JSON for machines.

Rules:

- Answers go to stdout, everything else to stderr.
- Colour where stdout is a terminal, and neither ``--no-color`` nor ``NO_COLOR`` says
  otherwise. Without a terminal tables are plain columns, never cut.
- What stands in a ledger is data: what a terminal would act on is escaped
  (`muniment_cli.escapes`), in JSON always, and no markup in it is interpreted.
- rich is imported when a terminal is there to see it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.escapes import clean, escaped_json

if TYPE_CHECKING:
    from rich.align import AlignMethod
    from rich.console import Console
    from rich.text import Text

__all__ = [
    "Cell",
    "age",
    "clean",
    "complain",
    "console",
    "count",
    "fields",
    "fitted",
    "hint",
    "interactive",
    "narrow",
    "plain_json",
    "progress",
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
LEAST = 8
"""What stays of a column that gives way."""
PROGRESS_DELAY = 0.5


def interactive() -> bool:
    """Tell whether a person looks at stdout."""
    return sys.stdout.isatty()


def narrow() -> bool:
    """Tell whether whole key ids would break a table on this terminal."""
    return interactive() and _terminal_width() < WIDE


def fitted(line: str) -> str:
    """Return *line*, cut where it would not fit on a terminal's line."""
    most = _terminal_width()
    if not interactive() or len(line) <= most:
        return line
    return line[: most - 1] + "…"


def say(text: object = "", style: str = "") -> None:
    """Print *text* to stdout, in a rich *style* where a terminal shows it."""
    if style and interactive():
        console().print(styled((str(text), style)), soft_wrap=True)
    else:
        click.echo(clean(text))


def hint(text: str) -> None:
    """Print a remark to stderr."""
    click.secho(clean(text), dim=True, err=True, color=_colour())


def complain(word: str, message: str) -> None:
    """Print one line ``word: message`` to stderr."""
    colour = "red" if word == "error" else "yellow"
    label = click.style(f"{word}:", fg=colour, bold=True)
    click.echo(f"{label} {clean(message)}", err=True, color=_colour())


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Sequence[str] = (),
    cut: str = "",
    upright: bool = False,
    sparse: bool = False,
) -> None:
    """Print a table.

    Args:
        headings: one for each column.
        rows: as many cells each.
        right: the headings whose columns are numbers.
        cut: the heading whose cells give way where a terminal is too narrow.
        upright: where a terminal is too narrow, print each row as `fields` instead.
        sparse: leave empty cells out of these fields.

    """
    lines: list[list[Cell]] = [[(heading, "bold") for heading in headings]]
    lines += ([_one_line(cell) for cell in row] for row in rows)
    seen = interactive()
    if seen and upright and _too_wide(lines):
        _show_upright(headings, lines[1:], sparse=sparse)
        return
    widths = [max(map(_columns, column)) for column in zip(*lines, strict=True)]
    if seen and cut in headings:
        at = headings.index(cut)
        rest = sum(widths) - widths[at] + GAP * (len(widths) - 1)
        widths[at] = min(widths[at], max(LEAST, _terminal_width() - rest))
    aligned = ["right" if heading in right else "left" for heading in headings]
    screen = console() if seen else None
    for line in lines:
        if screen is None:
            click.echo(_plain_line(line, widths, aligned))
        else:
            # What is too long is folded by the terminal: it can be copied whole.
            screen.print(_styled_line(line, widths, aligned), soft_wrap=True)


def fields(pairs: Iterable[tuple[str, Cell]]) -> None:
    """Print names and values below each other."""
    listed = list(pairs)
    width = max((len(name) for name, _ in listed), default=0)
    if not interactive():
        for name, value in listed:
            click.echo(f"{name:<{width}}  {clean(_text(value))}")
        return
    screen = console()
    for name, value in listed:
        # The terminal folds long lines itself: what it folds can be copied whole.
        label = styled((f"{name:<{width}}  ", "dim"))
        screen.print(label + styled(value), soft_wrap=True)


def styled(cell: Cell) -> Text:
    """Return *cell* as rich text; nothing in it is markup."""
    from rich.text import Text

    return Text.assemble(*((clean(text), style) for text, style in _spans(cell)))


def console() -> Console:
    """Return the rich console of stdout, for trees and the like."""
    from rich.console import Console

    class _Console(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the one place that handles it."""
            raise BrokenPipeError

    return _Console(
        no_color=_colour() is False,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if interactive() else 1000,
    )


def show_json(value: object) -> None:
    """Print *value* as the one document of the answer."""
    text = json.dumps(value, default=plain_json, ensure_ascii=False, indent=2)
    _write_json(text)


def show_jsonl(values: Iterable[object]) -> None:
    """Print *values* as they come, each on a line of its own."""
    for value in values:
        text = json.dumps(
            value, default=plain_json, ensure_ascii=False, separators=(",", ":")
        )
        _write_json(text)
        sys.stdout.flush()


def plain_json(value: object) -> object:
    """Return what JSON has for a value that it has not."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            one.name: cast("object", getattr(value, one.name))
            for one in dataclasses.fields(value)
        }
    match value:
        case bytes():
            return value.hex()
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case set() | frozenset():
            return sorted(cast("frozenset[str]", value))
        case _:
            return str(value)


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


@contextmanager
def progress(label: str) -> Generator[Callable[[int, int], None] | None]:
    """Yield what takes (done, total): a bar on stderr, where work is long and seen."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    begun = time.monotonic()
    bar = Progress(
        console=Console(stderr=True, no_color=_colour() is False), transient=True
    )
    task = bar.add_task(label, total=None)

    def advance(done: int, total: int) -> None:
        if not bar.live.is_started and time.monotonic() - begun >= PROGRESS_DELAY:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        bar.stop()


def _one_line(cell: Cell) -> Cell:
    return [(text.replace("\n", "\\n"), style) for text, style in _spans(cell)]


def _columns(cell: Cell) -> int:
    """Return how many columns of a terminal *cell* takes."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in clean(_text(cell))
    )


def _too_wide(lines: list[list[Cell]]) -> bool:
    widths = [max(map(_columns, column)) for column in zip(*lines, strict=True)]
    return sum(widths) + GAP * (len(widths) - 1) > _terminal_width()


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


def _styled_line(line: Sequence[Cell], widths: list[int], aligned: list[str]) -> Text:
    from rich.text import Text

    texts: list[Text] = []
    for cell, width, side in zip(line, widths, aligned, strict=True):
        text = styled(cell)
        text.truncate(width, overflow="ellipsis")
        text.align(cast("AlignMethod", side), width)
        texts.append(text)
    whole = Text(" " * GAP).join(texts)
    whole.rstrip()
    return whole


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns


def _write_json(text: str) -> None:
    # A lone surrogate stands in no ledger; in a path it may, and must not end a stream.
    click.echo(escaped_json(text).encode("utf-8", "backslashreplace"))


def _text(cell: Cell) -> str:
    return "".join(text for text, _ in _spans(cell))


def _spans(cell: Cell) -> list[tuple[str, str]]:
    if isinstance(cell, str):
        return [(cell, "")]
    return [cell] if isinstance(cell, tuple) else cell


def _colour() -> bool | None:
    ctx = click.get_current_context(silent=True)
    if ctx is not None and ctx.find_root().color is not None:
        return ctx.find_root().color
    return False if os.environ.get("NO_COLOR") else None

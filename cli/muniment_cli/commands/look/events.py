"""``muniment events``: the audit query over events.

Rules: filters narrow and combine; the newest events come first unless ``--order asc``.
People get the newest 50, machines everything that matches, and with ``--limit`` both
get that many.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Unpack

import click

from muniment.encoding.visible import escaped_json
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.filter_options import event_filters, order_option
from muniment_cli.shell.group import DefaultGroup
from muniment_cli.shell.options import (
    examples,
    json_option,
    jsonl_option,
    private_option,
)
from muniment_cli.terminal.output import (
    Cell,
    fields,
    fitted,
    hint,
    interactive,
    narrow,
    say,
    show_json,
    show_jsonl,
    table,
    when,
)
from muniment_cli.views.event_view import (
    SHORT_RUN,
    at_hand,
    event_json,
    marked_malformed,
    summary,
)
from muniment_cli.views.whole_event import show_whole, whole_event

if TYPE_CHECKING:
    from muniment import EventFilters
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment_cli.terminal.fitting import Give

__all__ = ["command"]

PEOPLE = 50
POLL_SECONDS = 0.3
INTERRUPTED = 130
_ONE_LINE = 80
"""Columns that leave room for an event's data on the line that names it."""


def _number(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return the number of an event."""
    if value.isascii() and value.isdigit():
        return int(value)
    raise click.BadParameter(
        f"an event is called by its number, not {value!r}", ctx, param
    )


@click.group("events", cls=DefaultGroup)
def command() -> None:
    """List, show and follow events.

    `muniment events` alone lists the newest.
    """


@command.command(
    "list",
    epilog=examples(
        "muniment events --type 'llm.*' --since 2h",
        "muniment events --run 01JD3 --order asc --jsonl",
    ),
)
@event_filters
@click.option("--limit", type=click.IntRange(min=1), help="At most this many.")
@order_option
@json_option
@jsonl_option
@pass_session
def list_events(
    session: Session,
    /,
    *,
    as_json: bool,
    as_jsonl: bool,
    **filters: Unpack[EventFilters],
) -> int:
    """List the events that pass every filter, newest first."""
    with session.open() as ledger:
        if as_json:
            show_json([event_json(event) for event in ledger.events(**filters)])
        elif as_jsonl:
            show_jsonl(event_json(event) for event in ledger.events(**filters))
        else:
            limit = filters.get("limit")
            asked: EventFilters = {**filters, "limit": limit or PEOPLE + 1}
            events = list(ledger.events(**asked))
            shown = events[: limit or PEOPLE]
            _show_rows(ledger, shown)
            if not events:
                hint(_nothing(ledger, filters.get("type")))
            if len(events) > len(shown):
                hint(f"the {PEOPLE} that come first; --limit shows more")
    return 0


def _nothing(ledger: Ledger, wanted: str | None) -> str:
    """Say that nothing was found, and which type may have been meant."""
    from muniment.errors import UsageError

    try:
        for name in (wanted or "*").split(","):
            if "*" not in name:
                ledger.event_types.get(name.strip())
    except UsageError as error:
        return f"{error.message}: {error.remedy}"
    return "no event passes these filters"


@command.command(
    "show",
    epilog=examples(
        "muniment events show 7",
        "muniment events show 7 --full | less",
        "muniment events show 7 --envelope > event.dsse.json",
        "muniment events show 7 --raw | sha256sum",
    ),
)
@click.argument("seq", callback=_number)
@click.option(
    "--envelope",
    is_flag=True,
    help="The DSSE envelope, which cosign and other tools check.",
)
@click.option("--raw", is_flag=True, help="The signed bytes, and nothing else.")
@click.option("--full", is_flag=True, help="Do not shorten the blobs.")
@private_option
@json_option
@pass_session
def show_event(  # noqa: PLR0913 - the options of the command
    session: Session,
    /,
    *,
    seq: int,
    envelope: bool,
    raw: bool,
    full: bool,
    private: bool,
    as_json: bool,
) -> int:
    """Show one event: the signed statement, and the blobs it refers to."""
    if envelope + raw + as_json > 1:
        raise click.UsageError("choose one of --envelope, --raw and --json")
    with session.open() as ledger:
        event = ledger.event(seq)
        if raw:
            _write_raw(event.payload)
        elif envelope:
            click.echo(_envelope(event))
        elif as_json:
            show_json(whole_event(ledger, event, private=private))
        else:
            show_whole(ledger, event, full=full, private=private)
    return 0


def _write_raw(payload: bytes) -> None:
    """Write the signed bytes; to a terminal, JSON of equal value without controls."""
    if interactive():
        click.echo(escaped_json(payload.decode("utf-8", "backslashreplace")))
    else:
        sys.stdout.buffer.write(payload)


@command.command(
    "tail",
    epilog=examples(
        "muniment events tail -f", "muniment events tail -f --type 'llm.*'"
    ),
)
@event_filters
@click.option(
    "-f", "--follow", is_flag=True, help="Keep printing as events are appended."
)
@click.option(
    "-n", "--limit", type=click.IntRange(min=0), default=10, show_default=True
)
@jsonl_option
@pass_session
def tail_events(
    session: Session,
    /,
    *,
    follow: bool,
    as_jsonl: bool,
    **filters: Unpack[EventFilters],
) -> int:
    """Show the last events, oldest first; -f follows until Ctrl-C."""
    with session.open() as ledger, _ended_by_interrupt(follow=follow):
        size = ledger.head.size
        newest: EventFilters = {**filters, "to_seq": size, "order": "desc"}
        last = ledger.events(**newest)
        shown = list(last)[::-1]
        events = iter(shown)
        if follow:
            events = _following(ledger, filters, shown, size)
        if as_jsonl:
            show_jsonl(event_json(event) for event in events)
        else:
            for event in events:
                _show_line(ledger, event)
    return 0


@contextmanager
def _ended_by_interrupt(*, follow: bool) -> Generator[None]:
    """End silently if Ctrl-C is the way to end."""
    try:
        yield
    except KeyboardInterrupt:
        if not follow:
            raise
        raise click.exceptions.Exit(INTERRUPTED) from None


def _following(
    ledger: Ledger, filters: EventFilters, shown: list[Event], size: int
) -> Iterator[Event]:
    yield from shown
    while True:
        head = ledger.head.size
        if head > size:
            new: EventFilters = {**filters, "from_seq": size, "to_seq": head}
            new["limit"] = None
            yield from ledger.events(**new)
            size = head
        time.sleep(POLL_SECONDS)


def _show_line(ledger: Ledger, event: Event) -> None:
    """Print *event* on one line, or on several if its data does not fit."""
    seq, *rest = _line(ledger, event)
    if narrow(below=_ONE_LINE):
        fields([(seq, " ".join(" ".join(rest).split()))])
    else:
        say(fitted("  ".join([seq, *rest]).rstrip()))


def _line(ledger: Ledger, event: Event) -> tuple[str, ...]:
    run = (event.run or "")[:SHORT_RUN].ljust(SHORT_RUN)
    kind = event.type.ljust(19)
    return f"{event.seq:>6}", when(event.time), run, kind, _said(ledger, event)


def _said(ledger: Ledger, event: Event) -> str:
    return marked_malformed(event, summary(at_hand(ledger, event)))


def _show_rows(ledger: Ledger, events: list[Event]) -> None:
    rows: list[list[Cell]] = [
        [
            str(event.seq),
            when(event.time)[5 if narrow() else 0 :],  # the year, if there is room
            (event.run or "")[:SHORT_RUN],
            event.type,
            _said(ledger, event),
        ]
        for event in events
    ]
    headings = ["seq", "time", "run", "type", "data"]
    gives: dict[str, Give] = {"time": "never", "run": "never", "data": "first"}
    table(headings, rows, right=["seq"], gives=gives)


def _envelope(event: Event) -> bytes:
    from muniment.formats.dsse import Envelope
    from muniment.keys.ed25519 import PublicKey

    keyid = PublicKey(event.key).keyid
    return Envelope(event.payload, keyid, event.signature).to_json()

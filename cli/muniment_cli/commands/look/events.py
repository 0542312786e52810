"""``muniment events``: the audit query over events.

Rules: filters narrow and combine; the newest events come first unless ``--order asc``.
People get the newest 50, machines everything that matches, and with ``--limit`` both
get that many.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar, Unpack

import click

from muniment.encoding.visible import escaped_json
from muniment_cli.shell.completion import complete_runs, complete_types
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.group import DefaultGroup
from muniment_cli.shell.options import examples, json_option, jsonl_option
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
    summary,
)
from muniment_cli.views.whole_event import show_whole, whole_event

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment_cli.terminal.fitting import Give

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., object])

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


class Filters(TypedDict):
    """The filters as the options pass them."""

    type: str | None
    run: str | None
    tenant: str | None
    actor: str | None
    since: str | None
    until: str | None
    subject: str | None
    series: str | None
    grep: str | None


def _filters(function: F) -> F:
    """Add the options that narrow what is listed."""
    time_help = "2026-11-20T07:00:00Z, 2026-11-20, 2h, 3d or yesterday."
    options = (
        click.option(
            "--type",
            shell_complete=complete_types,
            metavar="GLOB",
            help="Event types: note.added, 'llm.*', or several, separated by commas.",
        ),
        click.option(
            "--run",
            shell_complete=complete_runs,
            metavar="RUN",
            help="Only of this run.",
        ),
        click.option("--tenant", metavar="NAME", help="Only of this tenant."),
        click.option("--actor", metavar="NAME", help="Only by this actor, as claimed."),
        click.option("--since", metavar="TIME", help=f"Not before: {time_help}"),
        click.option("--until", metavar="TIME", help="Before; as --since."),
        click.option(
            "--subject",
            metavar="DIGEST",
            help="About this blob or file, by its sha256:… digest.",
        ),
        click.option("--series", metavar="KEY", help="Only of this series."),
        click.option("--grep", metavar="TEXT", help="With TEXT in the signed payload."),
    )
    for option in reversed(options):
        function = option(function)
    return function


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
@_filters
@click.option("--limit", type=click.IntRange(min=1), help="At most this many.")
@click.option(
    "--order", type=click.Choice(["asc", "desc"]), default="desc", show_default=True
)
@json_option
@jsonl_option
@pass_session
def list_events(
    session: Session,
    *,
    limit: int | None,
    order: Literal["asc", "desc"],
    as_json: bool,
    as_jsonl: bool,
    **filters: Unpack[Filters],
) -> int:
    """List the events that pass every filter, newest first."""
    with session.open() as ledger:
        if as_json:
            found = ledger.events(**filters, limit=limit, order=order)
            show_json([event_json(event) for event in found])
        elif as_jsonl:
            found = ledger.events(**filters, limit=limit, order=order)
            show_jsonl(event_json(event) for event in found)
        else:
            most = limit or PEOPLE
            events = list(ledger.events(**filters, limit=most + 1, order=order))
            _show_rows(ledger, events[:most])
            if not events:
                hint(_nothing(ledger, filters["type"]))
            if limit is None and len(events) > most:
                hint(f"the {most} that come first; --limit shows more")
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
@json_option
@pass_session
def show_event(
    session: Session, *, seq: int, envelope: bool, raw: bool, full: bool, as_json: bool
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
            show_json(whole_event(ledger, event))
        else:
            show_whole(ledger, event, full=full)
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
@_filters
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
    *,
    follow: bool,
    limit: int,
    as_jsonl: bool,
    **filters: Unpack[Filters],
) -> int:
    """Show the last events, oldest first; -f follows until Ctrl-C."""
    with session.open() as ledger, _ended_by_interrupt(follow=follow):
        size = ledger.head.size
        last = ledger.events(**filters, to_seq=size, limit=limit, order="desc")
        shown = list(last)[::-1] if limit else []
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
    ledger: Ledger, filters: Filters, shown: list[Event], size: int
) -> Iterator[Event]:
    yield from shown
    while True:
        head = ledger.head.size
        if head > size:
            yield from ledger.events(**filters, from_seq=size, to_seq=head)
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
    said = summary(at_hand(ledger, event))
    return f"(malformed: {event.fault})  {said}" if event.fault else said


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

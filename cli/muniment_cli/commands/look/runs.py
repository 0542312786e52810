"""``muniment runs``: run records, listed, shown, compared, explained, counted.

Rules: a list starts with the newest run and folds no more runs than it shows.
Everything comes from projections and events; nothing is decoded into classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from muniment.formats.lifecycle import (
    CANCELED,
    COMPLETED,
    ENDS,
    FAILED,
    PAUSED,
    UNFINISHED,
)
from muniment_cli.commands.look.runs_fixture import fixture_of_run
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.filter_options import order_option, run_filters
from muniment_cli.shell.group import DefaultGroup
from muniment_cli.shell.options import (
    examples,
    json_option,
    jsonl_option,
    private_option,
    run_argument,
)
from muniment_cli.terminal.json_text import plain_json
from muniment_cli.terminal.output import (
    Cell,
    age,
    count,
    fields,
    hint,
    narrow,
    say,
    show_json,
    show_jsonl,
    table,
)
from muniment_cli.views.budgets import budget_json, marked_status, show_budgets
from muniment_cli.views.event_view import (
    SHORT_RUN,
    VERDICT_COLOURS,
    event_json,
    milliseconds,
    resolved,
    short,
    status_style,
    visible,
)
from muniment_cli.views.explaining.failure_words import forked_from
from muniment_cli.views.explaining.reasons import marked_rows, run_marks
from muniment_cli.views.explaining.unverified import why_unverified
from muniment_cli.views.graphs.records import record_of, show_graph_tree, show_stages
from muniment_cli.views.judgements import judgement_rows, recorded_judgement
from muniment_cli.views.run_tables import diff_runs, show_stats
from muniment_cli.views.verdicts import is_of_graph, rows_of_graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from muniment import RunFilters
    from muniment.ledger import Ledger
    from muniment.queries.run_summary import RunSummary
    from muniment_cli.terminal.fitting import Give

__all__ = ["command", "show_whole"]

PEOPLE = 20


@click.group("runs", cls=DefaultGroup)
def command() -> None:
    """List, show, compare and explain runs.

    `muniment runs` alone lists the newest.
    """


@command.command(
    "list",
    epilog=examples(
        "muniment runs --status failed --since 2d",
        "muniment runs --label team=search --jsonl",
    ),
)
@run_filters
@click.option("--limit", type=click.IntRange(min=1), help="At most this many.")
@order_option
@json_option
@jsonl_option
@pass_session
def list_runs(
    session: Session,
    /,
    *,
    as_json: bool,
    as_jsonl: bool,
    **filters: Unpack[RunFilters],
) -> int:
    """List the runs that pass every filter, newest first."""
    with session.open() as ledger:
        if as_jsonl:
            show_jsonl(ledger.runs(**filters))
        elif as_json:
            show_json(list(ledger.runs(**filters)))
        else:
            limit = filters.get("limit")
            asked: RunFilters = {**filters, "limit": limit or PEOPLE + 1}
            records = list(ledger.runs(**asked))
            shown = records[: limit or PEOPLE]
            _show_list(ledger, shown)
            if not records:
                hint(_nothing(ledger))
            if len(records) > len(shown):
                hint(f"the {PEOPLE} that come first; --limit shows more")
    return 0


def _nothing(ledger: Ledger) -> str:
    if next(ledger.runs(limit=1), None) is None:
        return "nothing was run yet: `muniment run FILE` does, and records it"
    return "no run passes these filters"


def _show_list(ledger: Ledger, records: list[RunSummary]) -> None:
    marked = any(one.marks for one in records)
    rows: list[list[Cell]] = [
        [
            one.id,
            marked_status(ledger, one),
            age(one.started),
            _took(one),
            str(one.events),
            *([(", ".join(one.marks), "yellow")] if marked else []),
            _called(ledger, one),
        ]
        for one in records
    ]
    headings = ["run", "status", "started", "took", "events"]
    headings += ["marked", "name"] if marked else ["name"]
    gives: dict[str, Give] = {"run": SHORT_RUN, "started": "never", "name": "first"}
    table(headings, rows, right=["events", "took"], gives=gives)


def _called(ledger: Ledger, record: RunSummary) -> Cell:
    """Return the run's name, or the finding of a recorded replay."""
    judged = ledger.events(run=record.id, type="replay.judged", limit=1)
    event = next(judged, None) if record.replay_of else None
    if event is None:
        return record.name
    verdict = str(event.raw["verdict"]).replace("_", " ")
    return [
        (verdict, VERDICT_COLOURS.get(verdict, "yellow")),
        (f" replay of {str(record.replay_of)[:SHORT_RUN]}", ""),
    ]


def _took(record: RunSummary) -> str:
    from muniment.formats.statement import when

    if record.ended is None:
        return ""
    seconds = (when(record.ended) - when(record.started)).total_seconds()
    return milliseconds(seconds * 1_000_000)


@command.command(
    "show",
    epilog=examples("muniment runs show 01JD3Z8M6Q", "muniment runs show 01JD3 --full"),
)
@run_argument
@click.option("--full", is_flag=True, help="Do not shorten anything.")
@private_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    help="At most this many events in the timeline.",
)
@json_option
@pass_session
def show_run(
    session: Session,
    /,
    *,
    run: str,
    full: bool,
    private: bool,
    limit: int,
    as_json: bool,
) -> int:
    """Show one run: its facts, its result, its timeline.

    Of a graph it shows the stages, too; with --json, the whole record as `record`.
    """
    from muniment.queries.run_summary import RunSummaries

    with session.open() as ledger:
        chosen = ledger.run_id(run)
        if not as_json:
            show_whole(ledger, chosen, limit, full=full, private=private)
            return 0
        record = ledger.project(RunSummaries, run=chosen)
        events = ledger.events(run=chosen)
        timeline = [
            {**event_json(one), "data": visible(ledger, one, private=private)}
            for one in events
        ]
        shown = {
            "run": plain_json(record),
            "unverified": why_unverified(ledger, chosen, record.events) or None,
            "budget": budget_json(ledger, record),
            "timeline": timeline,
        }
        of_graph = record_of(ledger, chosen, private=private)
        show_json(shown if of_graph is None else {**shown, "record": of_graph})
    return 0


def show_whole(  # noqa: PLR0913 - the options of the commands
    ledger: Ledger,
    run: str,
    limit: int,
    *,
    full: bool = False,
    private: bool = False,
    more: Iterable[tuple[str, Cell]] = (),
    causes: Mapping[int, str] | None = None,
) -> None:
    """Print the facts of a run, *more* of them, and its first *limit* events.

    *causes* has a word about each event, by its number.
    """
    from muniment.queries.run_summary import RunSummaries

    record = ledger.project(RunSummaries, run=run)
    fields([*_facts(ledger, record, full=full), *more])
    show_budgets(ledger, record)
    of_graph = record_of(ledger, run)
    if of_graph is not None:
        show_stages(of_graph)
    if limit:
        say()
        from muniment_cli.views.timeline import show_timeline

        show_timeline(ledger, run, limit, full=full, private=private, causes=causes)
    if record.events > limit:
        hint(f"{record.events - limit} more events; --limit shows them")


def _facts(ledger: Ledger, record: RunSummary, *, full: bool) -> list[tuple[str, Cell]]:
    program = record.program or {}
    edited = why_unverified(ledger, record.id, record.events)
    pairs: list[tuple[str, Cell]] = [
        ("run", record.id),
        *([("NOT verified", (edited, "bold red"))] if edited else []),
        ("name", record.name),
        ("status", status_style(record.status)),
        *marked_rows(run_marks(ledger, record.id)),
        ("started", record.started),
        ("took", _took(record) or "-"),
        (
            "program",
            f"{program.get('name') or program.get('import', '-')}  {program.get('source', '')}".strip(),
        ),
        ("events", f"{record.first} to {record.last}, {record.events} of this run"),
        ("effects", _counted(record.effects) or "none"),
        ("tenant", f"{record.tenant}, actor {record.actor}"),
    ]
    if record.parent:
        pairs.append(("called by", str(record.parent.get("run"))))
    pairs += forked_from(record.fork)
    pairs += _judged(ledger, record)
    if record.failed_effects:
        pairs.append(("failed effects", (str(record.failed_effects), "red")))
    if record.generation:
        pairs.append(("resumed", count(record.generation, "time")))
    if record.labels:
        text = ", ".join(f"{k}={v}" for k, v in sorted(record.labels.items()))
        pairs.append(("labels", text))
    if record.plugins:
        text = ", ".join(f"{k} {v}" for k, v in sorted(record.plugins.items()))
        pairs.append(("plugins", text))
    return [*pairs, *_end(ledger, record, full=full)]


def _judged(ledger: Ledger, record: RunSummary) -> list[tuple[str, Cell]]:
    """Return what a recorded replay was judged to be, and by which terms."""
    judged = ledger.events(run=record.id, type="replay.judged", limit=1)
    event = next(judged, None) if record.replay_of else None
    if event is None:
        return []
    rows: list[tuple[str, Cell]] = [("replay of", str(record.replay_of))]
    told = recorded_judgement(resolved(ledger, event))
    return rows if told is None else [*rows, *judgement_rows(told)]


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _end(ledger: Ledger, record: RunSummary, *, full: bool) -> list[tuple[str, Cell]]:
    """Return what the run returned or raised."""
    waits = record.status == ENDS[PAUSED]
    if record.status in UNFINISHED and not waits:
        return []
    kinds = {status: kind for kind, status in ENDS.items()}
    kind = kinds.get(record.status, FAILED)
    width = 10**9 if full else 300
    for event in ledger.events(run=record.id, type=kind, order="desc", limit=1):
        data = visible(ledger, event)
        if kind == COMPLETED:
            result = data.get("result")
            if is_of_graph(result) and not full:
                return rows_of_graph(result)
            return [("result", short(result, width))]
        if kind in {CANCELED, PAUSED}:
            return [("reason", short(data.get("reason", ""), width))]
        text = f"{data.get('error_type')}: {short(data.get('message', ''), width)}"
        return [("error", (text, "red"))]
    return []


@command.command("tree", epilog=examples("muniment runs tree 01JD3Z8M6Q"))
@run_argument
@json_option
@pass_session
def show_scopes(session: Session, run: str, as_json: bool) -> int:
    """Show the scopes of a run as a tree, with the effects in each.

    Of a graph it shows the stages, and the runs that they called.
    """
    from muniment_cli.views.timeline import run_title, show_tree, tree_json
    from muniment_plugins.workflow.records.record import walks_graph
    from muniment_plugins.workflow.records.run_tree import load_run_tree

    with session.open() as ledger:
        chosen = ledger.run_id(run)
        of_graph = (
            load_run_tree(ledger, chosen) if walks_graph(ledger, chosen) else None
        )
        if as_json:
            told = tree_json(ledger, chosen)
            show_json(told if of_graph is None else {**told, "tree": of_graph})
        elif of_graph is not None:
            show_graph_tree(of_graph)
        else:
            events = list(ledger.events(run=chosen))
            show_tree(run_title(ledger, chosen), events)
    return 0


@command.command("explain", epilog=examples("muniment runs explain 01JD3Z8M6Q"))
@run_argument
@json_option
@pass_session
def explain_run(session: Session, run: str, as_json: bool) -> int:
    """Say why a run failed or has no end, and what to do."""
    from muniment_cli.views.explaining.explanation import explain

    with session.open() as ledger:
        said = explain(ledger, ledger.run_id(run), session.ledger_url)
    if as_json:
        show_json(said.to_json())
        return 0
    edited = said.unverified
    pairs: list[tuple[str, Cell]] = [
        ("run", said.run),
        *([("NOT verified", (edited, "bold red"))] if edited else []),
        ("status", said.status if edited else status_style(said.status)),
        ("because", said.because),
        *said.facts,
    ]
    fields(pairs)
    say()
    if narrow():  # the terminal would break the text beside a command
        for one, what in said.next:
            say(f"  {one}", "dim")
            fields([("    ", what)])
    else:
        fields((f"  {one}", what) for one, what in said.next)
    return 0


command.add_command(diff_runs)
command.add_command(fixture_of_run)
command.add_command(show_stats)

"""``muniment runs diff`` and ``muniment runs stats``: two runs, and all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import click

from muniment_cli.replay.acceptance import Acceptance, accept_options, mode_option
from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.decided import DECIDED
from muniment_cli.shell.filter_options import run_filters
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import (
    Cell,
    fields,
    hint,
    say,
    show_json,
    table,
)
from muniment_cli.views.event_view import milliseconds, short
from muniment_cli.views.explaining.reasons import marked_words, marks_json, run_marks
from muniment_cli.views.graphs.changes import show_changed_stages, stages_of_both
from muniment_cli.views.judgements import counted, delta_rows, hint_at_mode

if TYPE_CHECKING:
    from muniment import RunFilters
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger
    from muniment.queries.effect_stats import Tally
    from muniment.replays.diff import Contrast
    from muniment_plugins.governance.judgement.judge import Judgement

__all__ = ["diff_runs", "show_stats"]


_NUMBERS = (
    *("kind", "requested", "completed", "failed", "open", "repeated"),
    *("duration_us", "longest_us", "input_tokens", "output_tokens"),
)


@click.command(
    "diff",
    epilog=examples(
        "muniment runs diff 01JD3Z8M6Q 01JD42K1RS",
        "muniment runs diff 01JD3Z8M6Q 01JD42K1RS --accept invariant_preserving",
    ),
)
@click.argument("one", metavar="A", shell_complete=complete_runs)
@click.argument("other", metavar="B", shell_complete=complete_runs)
@mode_option("With --accept: what counts.  [default: bounded]")
@accept_options
@json_option
@pass_session
def diff_runs(
    session: Session, /, one: str, other: str, as_json: bool, **options: Any
) -> int:
    """Compare two runs: the first divergence, then the structure.

    Exit code 0 when both state, ask and return the same, 1 when they do not. Times and
    positions are not compared. Of two runs of graphs it names the stages that changed, and
    says how many it compared.

    With `--accept`, B is judged by A beside that, as a replay would be, and the exit code
    is that of the judgement: 1 if the verdict does not accept B.
    """
    from muniment.replays.diff import contrast

    acceptance = Acceptance.taken(options)
    if acceptance.mode is not None and not acceptance.asked:
        raise click.UsageError("--mode says how to judge; give --accept")
    said: Judgement | None = None
    with session.open() as ledger:
        found = contrast(ledger, one, other)
        held = [_held(ledger, run) for run in (found.one, found.other)]
        marks = [marks_json(run_marks(ledger, run)) for run in (found.one, found.other)]
        stages = stages_of_both(ledger, found.one, found.other)
        if acceptance.asked:
            said = acceptance.judged(ledger, found.one, found.other)
    DECIDED.code = code = int(not found.equal) if said is None else said.exit_code
    if as_json:
        judged = None if said is None else said.to_json()
        more: dict[str, JsonValue] = {
            "marks": dict(zip(("one", "other"), marks, strict=True))
        }
        more |= {} if stages is None else {"stages": stages}
        show_json({**found.to_json(), "judgement": judged, **more})
    else:
        _show_contrast(found)
        if stages is not None:
            show_changed_stages(stages)
        if held[0] != held[1] or any(" marked" in one for one in held):
            say()
            fields(list(zip(("A was", "B was"), held, strict=True)))
        if said is not None:
            say()
            fields(delta_rows(said.to_json()))
            hint_at_mode(said)
    return code


def _held(ledger: Ledger, run: str) -> str:
    """Say under which policy a run was, and its marks: none of its events are compared."""
    (record,) = ledger.runs(run=run, limit=1)
    policy = record.labels.get("policy")
    said = "under no policy" if policy is None else f"under the policy {policy}"
    return f"{said}{marked_words(run_marks(ledger, run))}"


def _show_contrast(found: Contrast) -> None:
    pairs: list[tuple[str, Cell]] = [("A", found.one), ("B", found.other)]
    if found.equal:
        fields([*pairs, ("equal", (counted(found.compared), "green"))])
        return
    first = found.differences[0]
    where = [first.what]
    where += [f"run {first.run}"] if first.run else []
    where += [f'scope "{first.scope}"'] if first.scope else []
    where += [] if first.seq is None else [f"event {first.seq} of A"]
    pairs += [
        ("first", (", ".join(where), "yellow")),
        ("  field", first.field or "(the whole)"),
        ("  A", _side(first.expected)),
        ("  B", _side(first.got)),
        ("differences", str(len(found.differences))),
    ]
    fields(pairs)
    if found.structure:
        say()
        rows = [[kind, str(a), str(b)] for kind, (a, b) in found.structure.items()]
        table(["type", "A", "B"], rows, right=["A", "B"])
    if len(found.differences) > 1:
        hint("--json lists every difference")


def _side(value: JsonValue) -> str:
    return "(nothing)" if value is None else short(value, 300)


@click.command(
    "stats",
    epilog=examples(
        "muniment runs stats",
        "muniment runs stats --run 01JD3",
        "muniment runs stats --name 'nightly-*' --since 7d",
    ),
)
@run_filters
@json_option
@pass_session
def show_stats(
    session: Session, /, *, as_json: bool, **filters: Unpack[RunFilters]
) -> int:
    """Count effects by kind: outcomes, durations, tokens; of all runs, or of some.

    Attempts count one by one: each of those asked is done, failed, open or repeated.
    """
    from muniment.queries.effect_stats import EffectTally, total

    with session.open() as ledger:
        if any(one is not None for one in filters.values()):
            runs = ledger.runs(**filters)
            tallies = total(ledger.project(EffectTally, run=one.id) for one in runs)
        else:
            tallies = ledger.project(EffectTally)
    if as_json:
        show_json([{name: getattr(one, name) for name in _NUMBERS} for one in tallies])
    else:
        _show_tallies(tallies)
    return 0


def _show_tallies(tallies: tuple[Tally, ...]) -> None:
    headings = ["kind", "asked", "done", "failed", "open", "repeated"]
    headings += ["total", "mean", "longest", "tokens in", "out"]
    rows: list[list[Cell]] = []
    for one in tallies:
        ended = one.completed + one.failed
        rows.append(
            [
                one.kind,
                str(one.requested),
                str(one.completed),
                str(one.failed),
                str(one.open),
                str(one.repeated),
                milliseconds(one.duration_us),
                milliseconds(one.duration_us / ended) if ended else "",
                milliseconds(one.longest_us),
                str(one.input_tokens or ""),
                str(one.output_tokens or ""),
            ]
        )
    table(headings, rows, right=headings[1:], upright=True, sparse=True)

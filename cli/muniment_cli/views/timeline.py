"""A run's events as lines and as a tree of its scopes.

Rules: each attempt at an effect is one line with its outcome; an attempt without one is
*repeated* if another attempt at the same place follows, and *open* if none does; blobs
are resolved and shortened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from muniment_cli.terminal.output import Cell, console, one_line, styled, table
from muniment_cli.views.event_view import (
    marked_malformed,
    milliseconds,
    summary,
    visible,
)
from muniment_cli.views.explaining.reasons import marked_words, marks_json, run_marks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.tree import Tree

    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment_cli.terminal.fitting import Give

__all__ = [
    "TimelineStep",
    "offset",
    "run_title",
    "show_timeline",
    "show_tree",
    "steps_of",
    "timeline_rows",
    "tree_json",
]

_DEEPEST = 32
"""No scope is drawn deeper than this many branches."""


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """A fact of a run, or an effect with its outcome."""

    event: Event
    outcome: Event | None = None
    kind: str = ""
    """The kind of an effect; empty for a fact."""
    repeated: bool = False
    """Whether it has no outcome, and a later attempt at the same effect follows."""

    @property
    def open(self) -> bool:
        """Whether it is the newest attempt at an effect, and has no outcome."""
        return bool(self.kind) and self.outcome is None and not self.repeated

    @property
    def label(self) -> str:
        """Its name in words."""
        about = self.event.raw.get("about")
        name = (
            about.get("name") or about.get("model") if isinstance(about, dict) else ""
        )
        return f"{self.kind} {name or ''}".strip() if self.kind else self.event.type

    @property
    def mark(self) -> Cell:
        """How an effect ended."""
        if not self.kind:
            return ""
        if self.outcome is None:
            return ("repeated", "dim") if self.repeated else ("open", "cyan")
        failed = self.outcome.type.endswith(".failed")
        took = milliseconds(self.outcome.raw.get("duration_us"))
        return (f"failed {took}", "red") if failed else (took, "green")


def steps_of(events: list[Event]) -> list[TimelineStep]:
    """Return *events* with every effect's outcome beside its request."""
    steps: list[TimelineStep] = []
    open_at: dict[tuple[str | None, int | None, str], int] = {}
    for event in events:
        stem, _, verb = event.type.rpartition(".")
        place = (event.scope, event.ordinal, stem)
        if verb == "requested":
            if place in open_at:
                earlier = open_at[place]
                steps[earlier] = replace(steps[earlier], repeated=True)
            open_at[place] = len(steps)
            steps.append(TimelineStep(event, None, stem))
        elif verb in ("completed", "failed") and place in open_at:
            at = open_at.pop(place)
            steps[at] = TimelineStep(steps[at].event, event, stem)
        else:
            steps.append(TimelineStep(event))
    return steps


def timeline_rows(
    ledger: Ledger, events: list[Event], *, full: bool, private: bool = False
) -> list[list[Cell]]:
    """Return a row for each event: seq, time since the start, scope, type, data."""
    start = events[0] if events else None
    return [
        [
            str(event.seq),
            "" if start is None else offset(start, event),
            event.scope or "",
            (event.type, "red" if event.type.endswith(".failed") else ""),
            marked_malformed(
                event,
                summary(visible(ledger, event, private=private), 76, full=full),
            ),
        ]
        for event in events
    ]


def show_timeline(
    ledger: Ledger,
    run: str,
    limit: int,
    *,
    full: bool,
    private: bool,
    causes: Mapping[int, str] | None,
) -> None:
    """Print the first *limit* events of a run; *causes* has a word about some of them."""
    events = list(ledger.events(run=run, limit=limit))
    rows = timeline_rows(ledger, events, full=full, private=private)
    headings = ["seq", "at", "scope", "type", "data"]
    if causes is not None:
        headings.insert(2, "cause")
        for row, event in zip(rows, events, strict=True):
            row.insert(2, causes.get(event.seq, ""))
    gives: dict[str, Give] = {"scope": "start", "data": "first"}
    table(headings, rows, right=["seq", "at"], gives=gives, upright=full)


def offset(start: Event, event: Event) -> str:
    """Return how long after *start* the *event* was written."""
    seconds = (event.when - start.when).total_seconds()
    return f"+{milliseconds(seconds * 1_000_000)}"


def run_title(ledger: Ledger, run: str) -> str:
    """Return what stands above the tree of *run*."""
    from muniment.queries.run_summary import RunSummaries

    record = ledger.project(RunSummaries, run=run)
    marks = marked_words(run_marks(ledger, run))
    return f"{run}  {record.name}  {record.status}{marks}"


def show_tree(title: str, events: list[Event]) -> None:
    """Print the scopes of a run as a tree, with the events of each."""
    from rich.tree import Tree

    root = Tree(styled((one_line(title), "bold")))
    nodes: dict[str, Tree] = {"": root}
    for step in steps_of(events):
        scope = step.event.scope or ""
        parent = _node(nodes, scope)
        text = styled(one_line(f"{step.event.seq}  {step.label}"))
        if step.mark:
            text.append("  ").append_text(styled(step.mark))
        branch = parent.add(text)
        if step.kind:
            segment = f"@{step.kind}.{step.event.ordinal}"
            nodes.setdefault(f"{scope}/{segment}" if scope else segment, branch)
    console().print(root)


def _node(nodes: dict[str, Tree], scope: str) -> Tree:
    """Return the node of *scope*, made below its parent if there is none.

    A scope nested too deep to see is drawn directly below the run, by its whole path.
    """
    if scope not in nodes:
        above, _, segment = scope.rpartition("/")
        if scope.count("/") >= _DEEPEST:
            above, segment = "", scope
        nodes[scope] = _node(nodes, above).add(
            styled((one_line(f"{segment}/"), "bold"))
        )
    return nodes[scope]


def tree_json(ledger: Ledger, run: str) -> dict[str, JsonValue]:
    """Return scope → steps, each with its effect's outcome; and the marks of the run."""
    scopes: dict[str, list[JsonValue]] = {}
    for step in steps_of(list(ledger.events(run=run))):
        steps = scopes.setdefault(step.event.scope or "", [])
        steps.append(
            {
                "seq": step.event.seq,
                "type": step.event.type,
                "ordinal": step.event.ordinal,
                "outcome": None if step.outcome is None else step.outcome.seq,
                "status": _status(step),
            }
        )
    marks = marks_json(run_marks(ledger, run))
    return {"run": run, "marks": marks, "scopes": cast("JsonValue", scopes)}


def _status(step: TimelineStep) -> str | None:
    if not step.kind:
        return None
    if step.outcome is None:
        return "repeated" if step.repeated else "open"
    return step.outcome.type.rpartition(".")[2]

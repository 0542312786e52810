"""What the harness adds to the report about an experiment's run.

    {"title": "How often it was tried", "blocks": [{"say": ["Claim ", {"event": 99, …}, …]}]}
    {"title": "What was measured", "blocks": [{"title": …}, {"dots": […]}, …]}

Rules: it says nothing that the record says; it cites it, by event and path (the hook
``report_sections`` of the evidence plugin tells the form). All runs of a claim are
listed, whatever came of them, those after this one, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from muniment.errors import CannotTellError
from muniment.formats.evidence import NOTHING
from muniment.formats.lifecycle import MARKED, STARTED
from muniment.formats.series import series_key
from muniment_plugins.harness.evidence_files.comparison_graphs import (
    comparisons,
    number_in,
    value_at_hand,
)
from muniment_plugins.harness.experiment.failures import place_in
from muniment_plugins.harness.preregistration.claim_history import claim_histories
from muniment_plugins.harness.preregistration.registration import KIND, OF_CLAIM

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["report_sections"]

_RUNS, _METRICS, _NAME, _MARKS = 60, 8, 200, 5
_VERDICT = "verdict.reached"


def report_sections(ledger: Ledger, run: str, size: int) -> list[JsonValue] | None:
    """Return the sections about claims and measurements; None if there are neither."""
    told = "metrics.measured,replicate.started,execution.measured"
    events = list(ledger.events(run=run, type=f"{told},{KIND}", to_seq=size))
    sections: dict[str, list[JsonValue]] = {
        "How often it was tried": [*_told(ledger, run, size)],
        "What was measured": [*_measured(ledger, run, events)],
        "What was compared": [*comparisons(ledger, run, size)],
        "How code was isolated": [*_isolated(events)],
        "What was registered beforehand": [*_registered(events)],
    }
    found: list[JsonValue] = [
        {"title": title, "blocks": blocks}
        for title, blocks in sections.items()
        if blocks
    ]
    return found or None


def _told(ledger: Ledger, run: str, size: int) -> list[JsonValue]:
    """Return what is known of other runs; say so if they are not all at hand."""
    try:
        return [*_tried(ledger, run, size)]
    except CannotTellError as error:
        if error.rule != "bundle/absent":
            raise
        return [{"say": "That is not told here: a series of the claim is not shown."}]


def _tried(ledger: Ledger, run: str, size: int) -> Iterator[JsonValue]:
    """Yield each claim of the run with all runs that were made for it."""
    for one in claim_histories(ledger, size):
        if run not in [made.id for made in one.runs]:
            continue
        keys = [series_key(OF_CLAIM, one.id), series_key("claim", one.id)]
        count: JsonValue = {"rule": "runs", "of": json.dumps(keys)}
        starts = [next(ledger.events(run=made.id, type=STARTED)) for made in one.runs]
        this = next(event.seq for event in starts if event.run == run)
        yield {
            "title": [
                "One of ",
                count,
                " runs of the claim ",
                _id_of(ledger, run, one.id),
            ]
        }
        if len(one.texts) > 1:
            yield {"say": "The claim had other words in other runs."}
        others = [event for event in starts if event.seq != this][: _RUNS - 1]
        rows: list[JsonValue] = [
            row
            for event in starts
            if event.seq == this or event in others
            for row in _rows(ledger, event, size, is_this=event.seq == this)
        ]
        names = ["run", "started", "marked", "hypothesis", "verdict", "p-value"]
        names.append("integrity")
        yield {"table": {"head": cast("JsonValue", names), "rows": rows}}
        if len(starts) > _RUNS:
            yield {"say": "`muniment claims` lists the others."}


def _id_of(ledger: Ledger, run: str, claim: str) -> JsonValue:
    for event in ledger.events(run=run, type="claim.stated"):
        if event.raw.get("id") == claim:
            return _at(event.seq, "id")
    return "that it registers"


def _rows(
    ledger: Ledger, started: Event, size: int, *, is_this: bool
) -> Iterator[JsonValue]:
    """Yield a row for each verdict of a run, one for a run without any."""
    named: JsonValue = {"event": started.seq, "head": "/run"}
    own: list[JsonValue] = [[named, " (this one)" if is_this else ""]]
    own.append({"event": started.seq, "head": "/time"})
    own.append(_marks(ledger, str(started.run), size))
    found = list(ledger.events(run=started.run, type=_VERDICT, to_seq=size))
    if not found:
        hidden = is_this and getattr(ledger, "withheld", NOTHING).events
        yield [*own, "", "none that is shown" if hidden else "no verdict", "", ""]
    for one in found:
        told = [
            _at(one.seq, name) if one.raw.get(name) is not None else ""
            for name in ("p_value", "integrity")
        ]
        said = (
            {**_at(one.seq, "passed"), "as": "verdict"} if "passed" in one.raw else ""
        )
        yield [*own, _at(one.seq, "hypothesis"), cast("JsonValue", said), *told]


def _marks(ledger: Ledger, run: str, size: int) -> JsonValue:
    """Return what *run* is marked with: no verdict of it is listed without that."""
    marks: dict[str, int] = {}
    for one in ledger.events(run=run, type=MARKED, to_seq=size):
        marks.setdefault(str(one.raw.get("mark")), one.seq)
    first = sorted(marks, key=lambda mark: mark != "non_certifiable")
    pieces = [piece for one in first for piece in (", ", _at(marks[one], "mark"))]
    return [*pieces[1 : 2 * _MARKS], " and more" if len(marks) > _MARKS else ""]


def _measured(ledger: Ledger, run: str, events: list[Event]) -> Iterator[JsonValue]:
    """Yield a picture for each metric: a line for each condition, a dot for each run."""
    rows: dict[str, dict[str, list[int]]] = {}
    scopes: dict[str, int] = {}
    is_all = True
    for event in (one for one in events if one.type == "metrics.measured"):
        condition, _ = place_in(event.scope)
        scopes.setdefault(condition, event.seq)
        for name in _metrics(ledger, event):
            if len(name) <= _NAME:
                rows.setdefault(name, {}).setdefault(condition, []).append(event.seq)
            else:
                is_all = False
    names = _conditions(events)
    for metric, conditions in list(rows.items())[:_METRICS]:
        first = next(iter(conditions.values()))[0]
        yield {"title": {**_at(first, "metrics", metric), "as": "name"}}
        dots: list[JsonValue] = []
        for condition, found in conditions.items():
            mean: JsonValue = {
                "rule": "mean",
                "run": run,
                "type": "metrics.measured",
                "scope": condition,
                "path": _pointer("metrics", metric),
            }
            points: list[JsonValue] = [_at(one, "metrics", metric) for one in found]
            where = names.get(condition, {"event": scopes[condition], "head": "/scope"})
            dots.append({"name": [where, ": mean ", mean], "points": points})
        yield {"dots": dots}
    if len(rows) > _METRICS or not is_all:
        yield {"say": "There are more metrics; `muniment runs show` has all of them."}


def _metrics(ledger: Ledger, event: Event) -> list[str]:
    """Return the names of the numbers that *event* states."""
    told = value_at_hand(ledger, event, "metrics")
    members = told.items() if isinstance(told, dict) else ()
    return [name for name, value in members if number_in(value) is not None]


def _conditions(events: list[Event]) -> dict[str, JsonValue]:
    """Return condition → a citation of its name."""
    return {
        str(one.raw["condition"]): _at(one.seq, "condition")
        for one in reversed(events)
        if one.type == "replicate.started"
    }


def _isolated(events: list[Event]) -> Iterator[JsonValue]:
    """Yield the levels of isolation, each with the first event that states it."""
    first: dict[str, int] = {}
    for one in (one for one in events if one.type == "execution.measured"):
        first.setdefault(repr([one.raw[name] for name in ("level", "layers")]), one.seq)
    for seq in list(first.values())[:_METRICS]:
        told = ["level", "layers", "environment", "exits"]
        yield {"facts": [[name, _at(seq, name)] for name in told]}
    if len(first) > _METRICS:
        yield {"say": "Code was isolated in more ways than a page should hold."}


def _registered(events: list[Event]) -> Iterator[JsonValue]:
    names = [
        "experiment",
        "replicates",
        "conditions",
        "hypotheses",
        "plan",
        "functions",
    ]
    for one in (one for one in events if one.type == KIND):
        told = [name for name in names if one.raw.get(name)]
        yield {"facts": [[name, _at(one.seq, name)] for name in told]}


def _at(event: int, *names: str) -> dict[str, JsonValue]:
    return {"event": event, "path": _pointer(*names)}


def _pointer(*names: str) -> str:
    parts = (one.replace("~", "~0").replace("/", "~1") for one in names)
    return "".join(f"/{one}" for one in parts)

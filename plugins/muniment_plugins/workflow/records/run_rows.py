"""Folding what is said of the run itself: its life, policies, questions, calls, usage."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from muniment.encoding.canonical import JsonValue
from muniment.events.token_counts import tokens_taken
from muniment.formats.lifecycle import OPEN, RESUMED, UNFINISHED
from muniment.formats.statement import Event
from muniment.queries.run_summary import status_after
from muniment_plugins.workflow.declared_names import is_engine
from muniment_plugins.workflow.records.rows import Row, above, place_of, said_in, taken

__all__ = [
    "answered",
    "asked",
    "began_workflow",
    "call_ended",
    "called",
    "decided",
    "ended_or_resumed",
    "intersected",
    "is_walk",
    "spent",
    "started",
]

_OTHERS = ("plugin", "change")
"""Who answers in place of what would have been performed."""


def is_walk(started: Event) -> bool:
    """Tell whether a run that *started* like that walks a graph, by its program's name."""
    return is_engine(started.raw.get("program"))


def started(record: Row, event: Event) -> None:
    """Take in the start of the run."""
    if record["id"] is not None:
        return
    names = ("name", "labels", "parent", "fork", "replay_of", "visibility")
    record |= {"id": event.run, "started_at": event.time, "status": OPEN}
    record["walks"] = is_walk(event)
    record["start"] = {**taken(event, *names), "tenant": event.tenant}
    record["start"]["params"] = event.raw.get("params")  # the graph is in them


def ended_or_resumed(record: Row, event: Event) -> None:
    """Take in that the run ended, waits, or goes on."""
    record["status"] = status_after(event)
    record["finished_at"] = event.time
    names = ("reason", "error_type", "message", "cause")
    record["ending"] = {"seq": event.seq, **taken(event, *names)}
    record["ending"]["result"] = event.raw.get("result")  # it says what comes when
    if event.type == RESUMED:
        record["resumed"] += 1
        record["resumed_at"] = event.seq
        record["ending"] = None
    if record["status"] in UNFINISHED:
        record["finished_at"] = None


def began_workflow(record: Row, event: Event) -> None:
    """Take in which graph the run walks."""
    names = ("workflow", "graph", "version", "nodes", "max_steps", "policy", "folder")
    record["workflow"] = {**place_of(event), **taken(event, *names)}


def published(record: Row, event: Event) -> None:
    """Take in what the run says to whoever asks for it; the last of a name counts."""
    record["published"][str(event.raw.get("query"))] = said_in(event, "value")


def intersected(record: Row, event: Event) -> None:
    """Take in what a node may do, where that is less than it asked for."""
    row = taken(event, "result", "narrowed", "refused")
    record["policies"][str(event.raw.get("node"))] = {"seq": event.seq, **row}


def asked(record: Row, event: Event) -> None:
    """Add a question that people were asked."""
    row = taken(event, "prompt", "subject", "quorum", "of")
    record["questions"].append({**place_of(event), "hash": event.hash, **row})


def decided(record: Row, event: Event) -> None:
    """Take in what people decided; the question is one of the last that were asked."""
    for row in reversed(record["questions"]):
        if row["hash"] == event.raw.get("asked"):
            row["outcome"], row["decided_at"] = event.raw.get("outcome"), event.time
            return


def called(record: Row, event: Event) -> None:
    """Add a call of another run; a further attempt at it is the same call."""
    place = f"{event.scope or ''} {event.ordinal}"
    stage = _stage_around(record, event)
    row = record["children"].setdefault(
        place,
        {
            **place_of(event),
            "stage": None if stage is None else stage["scope"],
            "request": event.raw.get("request"),
        },
    )
    row["status"] = OPEN


def call_ended(record: Row, event: Event) -> None:
    """Take in how a call of another run ended, and which run that was."""
    row = record["children"].get(f"{event.scope or ''} {event.ordinal}")
    if row is None:
        return
    row["status"] = event.type.rpartition(".")[2]
    row["ended"] = event.seq
    for name in ("about", "data"):
        told = event.raw.get(name)
        if isinstance(told, dict) and isinstance(told.get("run"), str):
            row["run"] = told["run"]


def answered(record: Row, event: Event) -> None:
    """Remember which effects failed, since a resume names them, and who answered instead.

    What the origin of a fork answered was performed there, and so is nobody else's word.
    """
    place = f"{event.scope or ''} {event.ordinal}"
    if event.type.endswith(".failed"):
        record["failures"][place] = event.seq
    else:
        record["failures"].pop(place, None)
    by = event.raw.get("answered_by")
    if isinstance(by, dict) and by.get("who") in _OTHERS:
        stage = _stage_around(record, event)
        if stage is not None:
            row: Row = {
                "seq": event.seq,
                "kind": event.type.rpartition(".")[0],
                "who": by["who"],
            }
            name = by.get("name")
            if type(name) is str:
                row["name"] = name
            stage.setdefault("answered", []).append(row)


def spent(record: Row, event: Event) -> None:
    """Add what an answer of a model took to the run, and to its stage.

    What the record of another run answered took nothing here: what it had taken there is
    summed up by itself.
    """
    by = event.raw.get("answered_by")
    who = by.get("who") if isinstance(by, dict) else None
    about = event.raw.get("about")
    told = about if isinstance(about, dict) else {}
    if who in ("record", "change"):
        if who == "record":
            _add(record.setdefault("answered_usage", {}), told, None)
        return
    stage = _stage_around(record, event)
    for sums in (record, *(() if stage is None else (stage,))):
        _add(sums.setdefault("usage", {}), told, event.raw.get("duration_us"))


def _stage_around(record: Row, event: Event) -> Row | None:
    for scope in above(event.scope or ""):
        found: Row | None = record["stages"].get(scope)
        if found is not None:
            return found
    return None


def _add(sums: Row, told: dict[str, JsonValue], took: JsonValue) -> None:
    sums["call_count"] = sums.get("call_count", 0) + 1
    if type(took) is int and took >= 0:
        sums["duration_us"] = sums.get("duration_us", 0) + took
    taken = tokens_taken(told.get("usage"))
    for name, count in (
        ("input_tokens", taken.read or 0),
        ("output_tokens", taken.written or 0),
        ("other_tokens", taken.more),
        ("uncounted", int(not taken.is_known)),
    ):
        sums[name] = sums.get(name, 0) + count
    cost = told.get("cost")
    amount = _amount(cost.get("usd") if isinstance(cost, dict) else None)
    if amount is None:
        sums["unpriced"] = sums.get("unpriced", 0) + 1
    else:
        sums["usd"] = f"{Decimal(sums.get('usd', '0')) + amount:f}"
    model = told.get("model")
    if isinstance(model, str):
        models = sums.setdefault("models", {})
        models[model] = models.get(model, 0) + 1


def _amount(said: object) -> Decimal | None:
    try:
        amount = Decimal(str(said))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None

"""The words for failures in a run: facts that state them, effects, their causes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muniment.formats.lifecycle import LIFE
from muniment_cli.views.event_view import content_of, short, visible
from muniment_cli.views.timeline import TimelineStep, steps_of

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["STATED", "about", "answerer", "caused", "forked_from", "stated", "text"]

STATED = 3
"""How many facts about failures are shown; more of them say the same."""


def stated(ledger: Ledger, events: list[Event]) -> Iterator[tuple[int, str, str]]:
    """Yield seq, type and words of the first facts that say what failed, and why.

    Such a fact has a message, with the broken rule and the remedy.
    """
    said = 0
    for event in events:
        verb = event.type.rpartition(".")[2]
        if verb not in ("failed", "refused", "unjudged") or event.type in LIFE:
            continue
        if event.type.removesuffix("failed") + "requested" in ledger.event_types:
            continue  # the failure of an effect is among the causes
        if said == STATED:
            return
        said += 1
        data = visible(ledger, event)
        words = (
            f"{_where(event, data)}{short(data.get('message', ''), 300)}{_broken(data)}"
        )
        yield event.seq, f"{event.type}, event {event.seq}", words


def _where(event: Event, data: dict[str, JsonValue]) -> str:
    """Return scope and function of a failure, if it has them."""
    step = data.get("function") or data.get("step")
    judging = f"hypothesis {data['hypothesis']}" if "hypothesis" in data else ""
    parts = [str(one) for one in (event.scope, step, judging) if one]
    return f"{', '.join(parts)}: " if parts else ""


def about(ledger: Ledger, step: TimelineStep) -> list[tuple[str, str]]:
    """Return the facts about an effect that failed, or whose outcome is unknown."""
    scope = f' in scope "{step.event.scope}"' if step.event.scope else ""
    facts = [("effect", f"{step.label}{scope}, event {step.event.seq}")]
    request = step.event.raw.get("request")
    if isinstance(request, dict) and "$blob" in request:
        value = content_of(ledger, step.event, "request")
        facts.append(("request", short(value, 300)))
    attempt = step.event.raw.get("attempt", 1)
    if isinstance(attempt, int) and attempt > 1:
        facts.append(("attempt", str(attempt)))
    if step.outcome is None:
        facts.append(("outcome", "unknown: it may have happened"))
        return facts
    data = visible(ledger, step.outcome)
    facts.append(("failed with", f"{text(data)}{_broken(data.get('data'))}"))
    facts.append(("failed at", f"event {step.outcome.seq}"))
    by = data.get("answered_by")
    if isinstance(by, dict) and by.get("who") != "performer":
        facts.append(("answered by", answerer(by)))
    return facts


def answerer(by: dict[str, JsonValue]) -> str:
    """Return in words who answered an effect in place of its performer."""
    who = by.get("who")
    if who in ("record", "change"):
        event = f"event {by.get('seq')} of run {by.get('run')}"
        return f"the record, {event}" if who == "record" else f"a change of {event}"
    named = [str(by[key]) for key in ("name", "version") if key in by]
    told = " ".join([f"the {who}" if who == "plugin" else str(who), *named])
    if "fallback" in by:
        told = f"its fallback {by['fallback']}, by {told}"
    if by.get("halts") is True:
        told = f"{told}, which halts the run"
    if by.get("performed") is True:
        told = f"{told}, which refused what its performer answered"
    quiet = {"who", "name", "version", "fallback", "halts", "performed"}
    more = [f"{key} {short(one)}" for key, one in by.items() if key not in quiet]
    return ", ".join([told, *more])


def forked_from(fork: JsonValue) -> list[tuple[str, str]]:
    """Return the run that a fork came from, and the changed outcomes."""
    if not isinstance(fork, dict):
        return []
    found = [("a fork of", f"{fork.get('run')}, up to event {fork.get('at')}")]
    changes = fork.get("changes")
    numbers = [
        str(one.get("seq"))
        for one in (changes if isinstance(changes, list) else [])
        if isinstance(one, dict)
    ]
    if numbers:
        events = "event" if len(numbers) == 1 else "events"
        found.append(("changed", f"the value of {events} {', '.join(numbers)} there"))
    return found


def _broken(data: JsonValue) -> str:
    """Return line, rule and remedy, if a failure states them."""
    if not isinstance(data, dict):
        return ""
    line = f", line {data['line']}" if data.get("line") else ""
    rule = f" [{data['rule']}]" if data.get("rule") else ""
    remedy = f"; {data['remedy']}" if data.get("remedy") else ""
    return f"{line}{rule}{remedy}"


def caused(events: list[Event], causes: JsonValue) -> list[TimelineStep]:
    """Return the last attempt of each effect that the run names as a cause."""
    wanted = causes if isinstance(causes, list) else []
    found: dict[tuple[str | None, int | None], TimelineStep] = {}
    for step in steps_of(events):
        if step.kind and [step.event.scope, step.event.ordinal] in wanted:
            found[step.event.scope, step.event.ordinal] = step
    return list(found.values())


def text(data: dict[str, JsonValue]) -> str:
    """Return the error that a failure states."""
    return f"{data.get('error_type')}: {short(data.get('message', ''), 300)}"

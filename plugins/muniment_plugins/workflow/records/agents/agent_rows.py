"""Folding what a loop states: its turns, calls, corrections and end.

    {"act.1": {"agent": "act", "turns": {"act.1/turn.1": {"turn": 1, "model": "openai:…",
     "calls": {"0": {"tool": "read", "status": "done"}}, …}}, "end": {…}}}

Rules:

- A loop is known by its scope, a turn by ``<loop>/turn.<n>``, a call by
  ``<turn>/call.<n>``. What else is stated there belongs to other programs.
- What a resumption performs again is stated again, in the same place.
- What does not have the form that the engine gives it belongs to other programs, too.
"""

from __future__ import annotations

import re

from muniment.formats.statement import Event
from muniment_plugins.workflow.records.held.stated import is_well_formed
from muniment_plugins.workflow.records.rows import Row, said_in, taken

__all__ = [
    "TOLD_OF_AGENTS",
    "answered",
    "asked",
    "call_ended",
    "called",
    "corrected",
    "decided",
    "denied",
    "ended",
    "turn_began",
    "turn_chosen",
]

_TURN, _CALL = "turn.", "call."
_POSITION = re.compile(r"call\.(0|[1-9][0-9]{0,5})")


def turn_began(record: Row, event: Event) -> None:
    """Begin a turn, and the loop with its first."""
    scope, said = event.scope or "", _about(event)
    loop, _, last = scope.rpartition("/")
    names = all(type(said.get(name)) is str for name in ("agent", "model"))
    if not names or type(said.get("turn")) is not int:
        return
    if last != f"{_TURN}{said['turn']}":
        return
    rows = record["agents"].setdefault(
        loop, {"agent": said.get("agent"), "turns": {}, "end": None}
    )
    row: Row = {
        "turn": said.get("turn"),
        "model": said.get("model"),
        "seq": event.seq,
        "at": event.time,
        "calls": {},
    }
    rows["turns"].setdefault(scope, row)


def turn_chosen(record: Row, event: Event) -> None:
    """Take in which model answers a turn.

    Where a fork changed it, only the request of the model says so: till then it is empty.
    """
    turn, model = _turn(record, event.scope or ""), _about(event).get("model")
    if turn is not None:
        turn["model"] = model if type(model) is str else ""


def answered(record: Row, event: Event) -> None:
    """Take in that the model answered."""
    turn = _turn(record, event.scope or "")
    if turn is not None:
        turn["answered_at"] = event.time
        reason = _about(event).get("finish_reason")
        if type(reason) is str:
            turn["finish_reason"] = reason


def called(record: Row, event: Event) -> None:
    """Begin a call of a tool."""
    about = _about(event)
    name, prefix = about.get("name"), about.get("prefix")
    if type(name) is str and type(prefix) is str:
        name = f"{prefix}{name}"
    row: Row = {"tool": name if type(name) is str else None, "status": "open"}
    _set(record, event, row)


def asked(record: Row, event: Event) -> None:
    """Take in that people are asked whether a call may be performed: which, they are told."""
    subject = said_in(event, "subject")
    _set(record, event, {"status": "waiting", "question": event.seq, "asked": subject})


def decided(record: Row, event: Event) -> None:
    """Take in that they decided; what comes of the call is said next."""
    _set(record, event, {"status": "open"})


def call_ended(record: Row, event: Event) -> None:
    """Take in how a call ended."""
    done = event.type.endswith(".completed") and not _about(event).get("is_error")
    row: Row = {"status": "done" if done else "failed"}
    _set(record, event, row | taken(event, "error_type"))


def denied(record: Row, event: Event) -> None:
    """Take in that a call was not performed."""
    if is_well_formed(event):
        row = {"status": "denied", **taken(event, "tool", "code", "place")}
        _set(record, event, row)


def corrected(record: Row, event: Event) -> None:
    """Take in that an answer was not the last one."""
    turn = _turn(record, event.scope or "")
    if turn is not None and is_well_formed(event):
        turn["corrected"] = taken(event, "code", "place")


def ended(record: Row, event: Event) -> None:
    """End a loop."""
    if not is_well_formed(event):
        return
    loop = record["agents"].setdefault(
        event.scope or "", {"agent": event.raw.get("agent"), "turns": {}, "end": None}
    )
    names = ("reason", "turns", "calls", "denied", "failed", "corrected", "tokens")
    loop["end"] = {"seq": event.seq, **taken(event, *names, "cost_usd")}


def _about(event: Event) -> Row:
    found = event.raw.get("about")
    return found if isinstance(found, dict) else {}


def _turn(record: Row, scope: str) -> Row | None:
    loop: Row | None = record["agents"].get(scope.rpartition("/")[0])
    found: Row | None = None if loop is None else loop["turns"].get(scope)
    return found


def _set(record: Row, event: Event, row: Row) -> None:
    """Add *row* to what is known of the call that *event* is about."""
    above, _, last = (event.scope or "").rpartition("/")
    turn = _turn(record, above)
    if turn is None or not _POSITION.fullmatch(last):
        return
    known = turn["calls"].setdefault(last.removeprefix(_CALL), {"seq": event.seq})
    known |= row


TOLD_OF_AGENTS = {
    "agent.turn.requested": turn_began,
    "agent.turn.completed": turn_chosen,
    "agent.corrected": corrected,
    "agent.ended": ended,
    "llm.requested": turn_chosen,
    "llm.completed": answered,
    "decision.asked": asked,
    "decision.reached": decided,
    "tool.requested": called,
    "tool.completed": call_ended,
    "tool.failed": call_ended,
    "tool.denied": denied,
}
"""Event type → what takes it in."""

"""What a repair came to, line by line, each of which names the event that says so.

    mend.1/turn.2/call.0 edit prices.py done (event 20, 1c9f0a2b44d1)

Rule: a line is made of its event and of nothing else, except that a call is named by the
event that asked for it. `muniment events show 20` shows the event, and the whole hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import muniment

__all__ = ["ReportLine", "one_line", "repair_report"]


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A statement, and the event that it is taken from."""

    text: str
    event: Any

    def __str__(self) -> str:
        """Return the line as it is printed; a diff goes below it."""
        first, _, rest = self.text.partition("\n")
        said = f"{first} (event {self.event.seq}, {self.event.hash[:12]})"
        return f"{said}\n{rest}" if rest else said


def repair_report(ledger: muniment.Ledger, run: str) -> list[ReportLine]:
    """Return what *run* did, and whether it repaired anything, in the order of events."""
    events = list(ledger.events(run=run))
    lines = [*_lines(ledger, events)]
    return [*lines, *_conclusion(ledger, lines, events)]


def _lines(ledger: muniment.Ledger, events: list[Any]) -> Iterator[ReportLine]:
    asked: dict[str, str] = {}
    for event in events:
        scope, data = event.scope or "", ledger.resolve(event)
        if event.type == "tool.requested":
            asked[scope] = _asked(data["request"])
        elif event.type in _SAID:
            call = f" {asked[scope]}" if scope in asked else ""
            text = one_line(f"{scope}{call} {_SAID[event.type](data)}")
            yield ReportLine(text, event)
        elif event.type == "stage.completed" and scope.startswith("change."):
            diff = [_printable(one) for one in str(data["value"]).splitlines()]
            yield ReportLine("\n".join([f"{scope} the change:", *diff]), event)


def one_line(text: str) -> str:
    """Return *text* in one line: what models say is not to look like lines of a report."""
    return " ".join(_printable(text).split())


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)


def _asked(request: Any) -> str:
    """Return a call as it is named in lines: the tool, and the module that it is about."""
    return f"{request['name']} {request['arguments'].get('path', '')}".rstrip()


def _returned(value: Any) -> str:
    """Say how the cases came out, if a call ran them; what it returned is in its event."""
    if not isinstance(value, dict):
        return "done"
    if "error" in value:
        return f"done, {value['error']}"
    return f"done, {len(value['wrong'])} of {value['cases']} cases are wrong"


def _answer(told: Any) -> str:
    """Say what the model asked for, or said."""
    calls = [one["name"] for one in told.get("tool_calls") or []]
    return f"calls {', '.join(calls)}" if calls else f"says: {told['text']}"


_SAID: dict[str, Callable[[Any], str]] = {
    "llm.completed": lambda data: _answer(data["value"]),
    "llm.failed": lambda data: f"no answer: {data['message']}",
    "tool.completed": lambda data: _returned(data["value"]),
    "tool.failed": lambda data: f"failed: {data['message']}",
    "tool.denied": lambda data: f"{data['tool']} denied: {data['code']}",
    "agent.corrected": lambda data: f"told to go on: {data['code']}",
    "agent.ended": lambda data: f"ended: {data['reason']}",
    "verification.concluded": lambda data: (
        f"{data['verdict']}: {data['checks'][0]['actual']}"
    ),
}
"""Event type → what a line says of its data."""


def _conclusion(
    ledger: muniment.Ledger, lines: list[ReportLine], events: list[Any]
) -> Iterator[ReportLine]:
    """Say whether it was repaired: something changed, and both verdicts upon it are good."""
    end = next(one for one in reversed(events) if one.type.startswith("run."))
    told = ledger.resolve(end)
    why = told.get("message") or told.get("reason")
    yield ReportLine(one_line(f"{end.type}: {why}" if why else end.type), end)
    said = [one.event for one in lines if one.event.type == "verification.concluded"]
    last = [(one.data["node"], one.data["verdict"]) for one in said[-2:]]
    good = last == [("verify", "verified"), ("review", "verified")]
    if good and end.type == "run.completed":
        changes = [one for one in lines if one.event.type == "stage.completed"]
        some = "\n" in changes[-1].text
        yield ReportLine("repaired" if some else "the cases held before", end)
        return
    bad = [one for one in lines if _is_bad(one.event)]
    if bad and bad[-1].event.data.get("reason") != "failed":  # the end says what failed
        yield ReportLine(f"not repaired: {bad[-1].text}", bad[-1].event)
    else:
        yield ReportLine(one_line(f"not repaired: {why or end.type}"), end)


def _is_bad(event: Any) -> bool:
    """Tell whether *event* says that a verdict is bad, or that a loop came to no end."""
    verdict, reason = event.data.get("verdict"), event.data.get("reason")
    if event.type == "agent.ended":
        return bool(reason != "answered")
    return bool(event.type == "verification.concluded" and verdict != "verified")

"""The loops of a run, as they are viewed.

    agent_records(ledger, run)[0]["turns"][0]["calls"][0]["status"]     'done'

Rules:

- What was asked and answered is in the record of the effects, at ``event``; a view says which
  turn did what, and how it ended.
- A loop without an end is ``open`` as long as its run may go on, and ``cancelled`` after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment import Projection
from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import LIFE, OPEN, UNFINISHED
from muniment.formats.statement import Event
from muniment.queries.run_summary import status_after
from muniment_plugins.workflow.agents.loop.endings import CANCELLED
from muniment_plugins.workflow.records.agents.agent_rows import TOLD_OF_AGENTS
from muniment_plugins.workflow.records.contents import Contents, is_erased
from muniment_plugins.workflow.records.rows import Row, part

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["AgentRecords", "agent_records", "agent_view"]

_CALL = ("tool", "status", "code", "place", "error_type", "question")
_TURN = ("turn", "model", "finish_reason", "corrected")
_END = ("reason", "tokens", "cost_usd")
_OPEN = "open"


class AgentRecords(Projection[Row]):
    """The fold over the loops of a run, whatever program they are in."""

    name = "agent-record"
    version = 4

    def initial(self) -> JsonValue:
        """Return the state of a run without events."""
        return {"agents": {}, "status": OPEN}

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Take in what *event* states."""
        if event.type in LIFE:
            cast("Row", state)["status"] = status_after(event)
        told = cast("Mapping[str, Callable[[Row, Event], None]]", TOLD_OF_AGENTS)
        if event.type in told:
            told[event.type](cast("Row", state), event)
        return state

    def view(self, state: JsonValue) -> Row:
        """Return the loops by scope, and the status of the run."""
        return cast("Row", state)


def agent_records(
    ledger: Ledger, run: str, *, private: bool = False
) -> list[dict[str, Any]]:
    """Return the loops of *run*, an id or a unique prefix of one, in their order.

    With *private* what is private of them is there, too.

    Raises:
        UsageError: there is no such run.

    """
    found = ledger.project(AgentRecords, run=ledger.run_id(run))
    contents = Contents(ledger, private=private)
    return [
        {"scope": scope, **agent_view(loop, found["status"], contents)}
        for scope, loop in found["agents"].items()
    ]


def agent_view(loop: Row, status: str, contents: Contents) -> Row:
    """Return what is known of a *loop* in a run of this *status*."""
    end = part(loop, "end")
    turns = [*loop["turns"].values()]
    calls = [one for turn in turns for one in turn["calls"].values()]
    view: Row = {
        "agent": loop["agent"],
        "reason": _OPEN if status in UNFINISHED else CANCELLED,
        **{name: end[name] for name in _END if name in end},
        "calls": len(calls),
        "denied": sum(one["status"] == "denied" for one in calls),
        "failed": sum(one["status"] == "failed" for one in calls),
        "corrected": sum("corrected" in one for one in turns),
        "turns": [_turn(one, contents) for one in turns],
    }
    return {name: value for name, value in view.items() if value is not None}


def _turn(row: Row, contents: Contents) -> Row:
    view: Row = {name: row.get(name) for name in _TURN}
    view["corrected"] = (
        contents.of_all(row["corrected"]) if "corrected" in row else None
    )
    view |= {"event": row["seq"], "started_at": row["at"]}
    view["answered_at"] = row.get("answered_at")
    ordered = sorted(row["calls"].items(), key=lambda one: int(one[0]))
    view["calls"] = [
        {
            "position": int(position),
            "event": call["seq"],
            **_call(call, contents),
        }
        for position, call in ordered
    ]
    return {name: value for name, value in view.items() if value is not None}


def _call(row: Row, contents: Contents) -> Row:
    """Return what is known of a call; people were told which tool they are asked about."""
    view = contents.of_all({name: row[name] for name in _CALL if name in row})
    if "asked" in row and "tool" not in row:
        asked: object = contents.of(row["asked"])
        said = cast("Row", asked) if isinstance(asked, dict) else {}
        tool = said if is_erased(said) else said.get("tool")
        if isinstance(tool, str) or tool is said:
            view["tool"] = tool
    return view

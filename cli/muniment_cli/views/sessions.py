"""Sessions as people read them: a table of all, and the page of one.

    m3  user
        Where is my refund?
    m4  assistant
        calls lookup({"id": 7})
    s9  summary of 6 messages, by truncate

Rule: what a session no longer says, and what is private, is named where it is not shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from muniment_cli.terminal.output import (
    Cell,
    age,
    count,
    fields,
    hint,
    prose,
    say,
    table,
    when,
)
from muniment_cli.views.event_view import SHORT_RUN

if TYPE_CHECKING:
    from muniment_cli.terminal.fitting import Give

__all__ = ["show_session", "show_sessions"]

Row = dict[str, Any]
_STYLES = {"user": "bold cyan", "assistant": "bold green", "tool": "bold magenta"}
_TAKES = ("trimmed", "compacted", "reset", "restored", "state_changed")
_TELLS = (*_TAKES, "compaction_declined")
"""Events that are told in a line; those of `_TAKES` changed what is said."""


def show_sessions(rows: list[Row]) -> None:
    """Print a table of sessions."""
    headings = ["session", "state", "messages", "tokens", "written", "from"]
    gives: dict[str, Give] = {"session": "end", "state": "never", "from": "first"}
    lines: list[list[Cell]] = [
        [
            one["id"],
            "held" if one["held_by"] else one["state"],
            str(one["messages"]),
            str(one["tokens"]),
            age(one["time"]),
            one["parent_id"] or "",
        ]
        for one in rows
    ]
    table(headings, lines, right=["messages", "tokens"], gives=gives)


def show_session(found: Row) -> None:
    """Print the page of a session."""
    fields([(name, value) for name, value in _head(found) if value])
    if "history" in found:
        for one in found["history"]:
            _show_step(one)
        return
    for one in found["messages"]:
        _show_message(one)
    events = found["events"][: found["position"]]
    told = [_taken(one) for one in events]
    if any(told):
        say()
        for one in filter(None, told):
            prose(one, "dim")
    if any(one["kind"] in _TAKES for one in events):
        hint("--all shows what it no longer says, --at N what it was")
    if any(one["content"] == "[private]" for one in found["messages"]):
        hint("--private shows what is private")


def _head(found: Row) -> list[tuple[str, Cell]]:
    messages = count(len(found["messages"]), "message")
    size = f"{messages}, {count(found['tokens'], 'token')}"
    parent = found["parent_id"]
    at = found["branched_at_event_index"]
    return [
        ("session", found["id"]),
        ("state", found["state"]),
        ("says", f"{size}, after {count(found['position'], 'event')}"),
        ("forked from", "" if parent is None else f"{parent}, after its event {at}"),
        ("forks", "\n".join(found["child_ids"])),
        ("run", found["held_by"] or ""),
    ]


def _show_message(one: Row, mark: str = "") -> None:
    say()
    role = "summary" if one.get("is_summary") else one["role"]
    said = [mark] if mark else []
    said += ["shortened"] if one.get("shortened") else []
    said += ["private"] if one.get("visibility") == "private" else []
    said += [f"for {one['tool_call_id']}"] if one.get("tool_call_id") else []
    head = f"{one['id']}  {role}" + (f"  ({', '.join(said)})" if said else "")
    prose(head, _STYLES.get(role, "bold"))
    for line in _lines(one):
        prose(f"    {line}")
    hidden = one.get("private")
    if hidden:
        for name, value in hidden.items():
            prose(f"    private {name}: {_text(value)}", "dim")


def _lines(one: Row) -> list[str]:
    lines = _text(one.get("content")).splitlines()
    calls = one.get("tool_calls")
    if isinstance(calls, list):
        lines += [_call(each) for each in cast("list[object]", calls)]
    elif calls:  # an earlier version took whatever was given
        lines.append(f"calls {_text(calls)}")
    return lines


def _call(call: object) -> str:
    if not isinstance(call, dict):
        return f"calls {_text(call)}"
    members = cast("Row", call)
    inner = members.get("function")
    told = cast("Row", inner) if isinstance(inner, dict) else members
    return f"calls {_text(told.get('name'))}({_text(told.get('arguments'))})"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def _show_step(one: Row) -> None:
    message = one.get("message")
    if message is not None:
        _show_message(message, "" if one["is_there"] else "no longer said")
        return
    text = _taken(one) or f"{one['position']}: {one['kind']}"
    say()
    prose(text, "dim")
    if one.get("archived"):
        summary = {"id": one["id"], "is_summary": True, "role": "user"}
        _show_message({**summary, **one["summary"]})


def _taken(one: Row) -> str:
    """Return what an event took out of a session; empty for others."""
    kind = one["kind"]
    if kind not in _TELLS:
        return ""
    at = f"event {one['position']}, {when(one['time'])}"
    by = f", by run {one['run'][:SHORT_RUN]}" if one.get("run") else ""
    return f"{at}{by}: {_said_of(one)}"


def _said_of(one: Row) -> str:
    match one["kind"]:
        case "trimmed":
            return f"{count(one['dropped'], 'message')} trimmed"
        case "reset":
            return f"reset, with {count(one['dropped'], 'message')}"
        case "restored":
            return f"restored as after event {one['at']}"
        case "compacted":
            tokens = f"{one['tokens_before']} tokens became {one['tokens_after']}"
            gone = f"{count(one['archived'], 'message')} archived"
            return f"{gone} by {one['strategy']} ({one['reason']}): {tokens}"
        case "compaction_declined":
            tokens = f"{one['tokens_before']} tokens would be {one['tokens_after']}"
            return f"not compacted by {one['strategy']} ({one['reason']}): {tokens}"
        case _:
            return f"{one['state']} {one.get('reason', '')}".rstrip()

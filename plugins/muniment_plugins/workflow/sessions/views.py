"""Looking at sessions: one as it was at a moment, where it comes from, and all of them.

Rule: what is private is shown to whoever asks for it, and to nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import ErasedError, MunimentError
from muniment.formats.statement import Event
from muniment.queries.projections import Projection
from muniment_plugins.workflow.session_types import children_series, session_name
from muniment_plugins.workflow.sessions.contents import (
    ERASED,
    message_of,
    part_of_event,
    private_of,
)
from muniment_plugins.workflow.sessions.streams import (
    SessionStep,
    first_position,
    folded,
    part_of,
    steps_of,
    writer_of,
)
from muniment_plugins.workflow.sessions.transcript import Transcript, TranscriptEntry

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "SessionNames",
    "ancestry",
    "archived_by",
    "history",
    "session_rows",
    "snapshot",
]

Object = dict[str, Any]
_WITHHELD = "[private]"


def snapshot(
    ledger: Ledger, name: str, at: int | None = None, *, private: bool = False
) -> Object:
    """Return the session *name* as a transcript, now or at a moment.

    Raises:
        CannotTellError: there is none.
        UsageError: it has no such moment.

    """
    found = folded(ledger, name, at)
    steps, begun = steps_of(ledger, name), first_position(ledger, name)
    return {
        "_type": "transcript",
        "version": 2,
        "id": session_name(name),
        "state": found.state,
        "position": found.position,
        "tokens": found.tokens,
        "messages": [_message(ledger, one, private) for one in found.entries],
        "events": [_event(one, begun + n) for n, one in enumerate(steps, 1)],
        "assets": [_asset(one) for one in steps if one.kind == "session.compacted"],
        "held_by": writer_of(ledger, name),
        **ancestry(ledger, name, found),
        "branched_at_event_index": found.at,
    }


def ancestry(ledger: Ledger, name: str, transcript: Transcript | None = None) -> Object:
    """Return where the session *name* comes from, and what was forked from it."""
    found = transcript or folded(ledger, name)
    parent, root = found.source, found
    while root.source is not None:
        root = folded(ledger, root.source)
    children = [
        str(event.raw["session"]) + ("" if event.run is None else f"@{event.run}")
        for event in ledger.events(series=children_series(name), type="session.opened")
    ]
    return {"parent_id": parent, "child_ids": children, "root_id": root.session}


def history(
    ledger: Ledger, name: str, at: int | None = None, *, private: bool = False
) -> list[Object]:
    """Return every event of the session *name*, with what was said and summarised."""
    found = folded(ledger, name, at)
    there = {(one.id, one.seq) for one in found.entries}
    begun = first_position(ledger, name)
    rows: list[Object] = []
    for number, step in enumerate(steps_of(ledger, name), begun + 1):
        if at is not None and number > at:
            break
        row = _event(step, number)
        if step.kind == "session.message_appended":
            entry = TranscriptEntry(
                str(step.data["id"]),
                str(step.data["role"]),
                str(step.data["visibility"]),
                int(step.data["tokens"]),
                step.seq,
            )
            row["message"] = _message(ledger, entry, private)
            row["is_there"] = (entry.id, entry.seq) in there
        elif step.kind == "session.compacted":
            row["archive"] = archived_by(ledger, step, private=private)
            row["summary"] = _summary(ledger, step, private)
        rows.append(row)
    return rows


def _summary(ledger: Ledger, step: SessionStep, private: bool) -> Object:
    if step.data.get("visibility") == "private" and not private:
        return {"role": "user", "content": _WITHHELD}
    try:
        return dict(cast("Object", part_of_event(ledger, step.event, "summary")))
    except ErasedError:
        return {"role": "user", "content": ERASED}


def archived_by(
    ledger: Ledger, step: SessionStep, *, private: bool = False
) -> list[Object]:
    """Return the messages that a compaction replaced, whole; marked if they were erased."""
    try:
        found = part_of_event(ledger, step.event, "archive")
    except ErasedError:
        return [{"id": "", "role": "user", "content": ERASED}]
    return [_archived(one, private) for one in cast("list[Object]", found)]


def _archived(one: Object, private: bool) -> Object:
    if private or one.get("visibility") == "public":
        return dict(one)
    return {
        **{key: one.get(key) for key in ("id", "visibility", "role")},
        "content": _WITHHELD,
    }


def _message(ledger: Ledger, entry: TranscriptEntry, private: bool) -> Object:
    row: Object = {
        "id": entry.id,
        "visibility": entry.visibility,
        "tokens": entry.tokens,
        **({"is_summary": True} if entry.is_summary else {}),
        **({"shortened": True} if entry.shortened_by is not None else {}),
    }
    if entry.visibility == "private" and not private:
        return {**row, "role": entry.role, "content": _WITHHELD}
    row = {"role": entry.role, "content": "", **message_of(ledger, entry), **row}
    hidden = private_of(ledger, entry) if private else None
    return row if hidden is None else {**row, "private": hidden}


def _event(step: SessionStep, position: int) -> Object:
    said = {
        name: value
        for name, value in step.data.items()
        if name not in ("session", "counted") and not _is_blob(value)
    }
    return {
        "position": position,
        "seq": step.seq,
        "time": step.event.time,
        "kind": step.kind.removeprefix("session."),
        "run": step.event.run,
        "actor": step.event.actor,
        **said,
    }


def _is_blob(value: object) -> bool:
    return isinstance(value, dict) and "$blob" in value


def _asset(step: SessionStep) -> Object:
    value = step.data.get("archive")
    blob = cast("Object", value)["$blob"] if _is_blob(value) else None
    return {
        "id": step.data["id"],
        "kind": "archive",
        "mime_type": "application/json",
        "visibility": "public",
        "storage": {"seq": step.seq, "blob": blob},
    }


class SessionNames(Projection[dict[str, Object]]):
    """Every session by its name, those that runs wrote included: where it begins and ends.

    The view is name → ``{"first", "last", "time", "events", "run"}``.
    """

    name = "workflow-sessions"
    version = 1

    def initial(self) -> JsonValue:
        """Return no sessions."""
        return {}

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Count *event*, if it is one of a session."""
        if not event.type.startswith("session."):
            return state
        rows = cast("dict[str, Object]", state)
        name = str(event.raw.get("session"))
        counted = event.raw.get("counted")
        if counted is None and event.run is not None:
            name = f"{name}@{event.run}"
        row = rows.setdefault(
            name, {"first": event.seq, "run": event.run, "events": 0, "claims": []}
        )
        row["events"] += 1
        row["last"], row["time"] = event.seq, event.time
        if event.type == "session.claimed":
            row["claims"].append(str(event.raw.get("run")))
        return state

    def view(self, state: JsonValue) -> dict[str, Object]:
        """Return the rows."""
        return cast("dict[str, Object]", state)


def session_rows(ledger: Ledger, *, parts: bool = False) -> list[Object]:
    """Return a row for each session, the one written last at the end.

    Args:
        ledger: an open ledger.
        parts: whether parts that belong to a session are listed by themselves, too.

    """
    names = ledger.project(SessionNames)
    rows: list[Object] = []
    for name, row in sorted(names.items(), key=lambda one: one[1]["last"]):
        session, run = part_of(name)
        merged = run is not None and run in names.get(session, {}).get("claims", ())
        if merged and not parts:
            continue
        rows.append(
            {"id": name, "run": run, "time": row["time"], **_counted(ledger, name)}
        )
    return rows


def _counted(ledger: Ledger, name: str) -> Object:
    """Return what the session *name* is now; or why that cannot be told."""
    try:
        found = folded(ledger, name)
    except MunimentError as error:
        return {
            **dict.fromkeys(("messages", "tokens", "events", "compactions"), 0),
            **dict.fromkeys(("parent_id", "held_by")),
            "state": "wrong",
            "error": str(error),
        }
    return {
        "state": found.state,
        "messages": len(found.entries),
        "tokens": found.tokens,
        "events": found.position,
        "compactions": found.compactions,
        "parent_id": found.source,
        "held_by": writer_of(ledger, name),
    }

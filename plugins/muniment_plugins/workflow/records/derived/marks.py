"""What a run is marked with, and why, as its record says it.

    marks_of(contents, events)
    [{"mark": "non_certifiable", "reason": "policy, max_count: 3 of 2 effects", "event": 9}]

Rules:

- A mark stands: no event takes it away. The first event of each mark is what is told.
- Whoever may state facts of the run may mark it: its program, a handler, a plugin.
- It is for whoever reads the run, so it is shown of a private run, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment.formats.lifecycle import MARKED
from muniment.formats.statement import Event
from muniment_plugins.workflow.records.contents import Contents
from muniment_plugins.workflow.records.rows import Row

__all__ = ["marks_of"]


def marks_of(contents: Contents, events: Iterable[Event]) -> list[Row]:
    """Return each mark that *events* state of their run, with its first reason."""
    first: dict[str, Event] = {}
    for event in events:
        mark = event.raw.get("mark") if event.type == MARKED else None
        if isinstance(mark, str):
            first.setdefault(mark, event)
    return [
        {
            "mark": mark,
            "reason": contents.of(event.raw.get("reason")),
            "event": event.seq,
        }
        for mark, event in first.items()
    ]

"""How a recorded run ended, and in what another end differs from it."""

from __future__ import annotations

from collections.abc import Callable

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.events.visibility import INSTEAD, PRIVATE, VISIBILITY
from muniment.formats.lifecycle import CANCELED, COMPLETED, CONCLUDED, FAILED, LIFE
from muniment.formats.statement import Event
from muniment.recorded.compare import first_difference
from muniment.recorded.run import Recorded

__all__ = ["counted", "end_difference", "end_of"]


def end_of(record: Recorded, run: str) -> Event:
    """Return how the recorded *run* ended.

    Raises:
        CannotTellError: it has no end.

    """
    last = [event for event in record.events if event.type in LIFE][-1]
    if last.type in CONCLUDED:
        return last
    canceled = last.type == CANCELED
    raise CannotTellError(
        f"the run {'was canceled' if canceled else 'has no end'}; "
        "what it would have come to is not recorded",
        rule="replay/open",
        place=f"run {run}",
        remedy=f"`muniment runs explain {run}` says how it went",
    )


def counted(ended: dict[str, JsonValue]) -> JsonValue:
    """Return the part of an end that the result digest covers."""
    if ended["type"] == COMPLETED:
        return ended.get("result")
    return {"error": [ended["error_type"], ended["message"]]}


def end_difference(
    kind: str,
    data: dict[str, JsonValue],
    ended: dict[str, JsonValue],
    hide: Callable[[str], str],
) -> tuple[str, JsonValue, JsonValue] | None:
    """Return how a program *ended* in another way than an event *kind* with *data*, if so.

    Texts are compared as they would be written here, on both sides.
    """
    names = ("result", "error_type", "message")
    got = {name: ended[name] for name in names if name in ended}
    expected = {name: data[name] for name in names if name in data}
    difference = first_difference(kind, ended["type"], "type")
    for said in (expected, got):
        if isinstance(text := said.get("message"), str):
            said["message"] = hide(text)
    if difference is None:
        return first_difference(expected, got)
    if "error_type" in got:  # or nobody learns what the program raised
        private = ended.get(VISIBILITY) == PRIVATE
        message = INSTEAD if private else got["message"]
        difference = (*difference[:2], f"{FAILED}, {got['error_type']}: {message}")
    return difference

"""The gaps in a recording of a program, as its own facts state them.

Rules: the facts are shown as recorded, whichever plugin wrote them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment_cli.views.event_view import resolved, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["recording_gaps"]

_PREFIX = "recording."
_LONGEST = 300


def recording_gaps(
    ledger: Ledger, events: Iterable[Event]
) -> Iterator[tuple[str, str]]:
    """Yield name and words of each fact about a thing not recorded or not searched."""
    for event in events:
        if event.type.startswith(_PREFIX):
            told = resolved(ledger, event).items()
            data: dict[str, JsonValue] = {name: one for name, one in told if one}
            yield f"{event.type}, event {event.seq}", short(data, _LONGEST)

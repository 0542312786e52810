"""Which contents of an event are private: shown to whoever asks for them, and else nowhere.

    {"visibility": "private", "request": {"$blob": …}}     every content is private
    {"message": {"$blob": …}, "private": {"$blob": …}}      one is, by its name

Rule: whoever shows contents of events asks here first. A private one is in the ledger, in
backups and in bundles, which are evidence, and on no page, in no document and in no export
unless it is asked for. It is never left out silently: a place says that it is private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muniment.formats.statement import Event

__all__ = ["INSTEAD", "PRIVATE", "VISIBILITY", "hides", "is_private", "tells_private"]

VISIBILITY = "visibility"
"""The member of an event that says who is shown its contents."""
PRIVATE = "private"
INSTEAD = "(private)"
"""What stands in a text in place of what is private."""


def is_private(event: Event) -> bool:
    """Tell whether all contents of *event* are private."""
    return event.raw.get(VISIBILITY) == PRIVATE


def tells_private(event: Event) -> bool:
    """Tell whether *event* has anything private."""
    return is_private(event) or any(hides(event, name) for name in event.raw)


def hides(event: Event, name: str) -> bool:
    """Tell whether the content that *event* has in *name* is private."""
    value = event.raw.get(name)
    return (
        isinstance(value, dict)
        and "$blob" in value
        and (name == PRIVATE or is_private(event))
    )

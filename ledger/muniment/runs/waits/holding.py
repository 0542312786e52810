"""Whether the record of a run has an effect for a lane, before it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.recorded.compare import content_bytes
from muniment.recorded.match_keys import match_key
from muniment.runs.waits.own import taken

if TYPE_CHECKING:
    from muniment.runs.recording import Recording

__all__ = ["holds"]


def holds(recording: Recording, scope: str, name: str, request: object) -> bool:
    """Tell whether the record has an effect in *scope* that such a request would take.

    In a fork that is the record of the run that answers it.
    """
    if not recording.mode.is_held:
        return False
    kind = recording.port.kind(name)
    request, *_ = taken(recording, kind, request)
    fields = {"request": request, "about": dict(kind.about_request(request)) or None}
    prepared = recording.port.validate(f"{name}.requested", fields)
    key = match_key(name, content_bytes(prepared, "request"))
    return recording.mode.holds(scope, key)

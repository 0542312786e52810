"""muniment: a signed, hash-chained ledger of what programs and models did.

    import muniment

    with muniment.open(create=True) as ledger:
        ledger.append("note.added", {"text": "reviewed"})

Names are loaded when they are first used: ``import muniment`` is cheap, and ``verify``
never imports what writes.
"""

from __future__ import annotations

from muniment.lazy import lazy

TYPE_CHECKING = False  # as `typing` says, whose import costs more than all of this
if TYPE_CHECKING:
    from muniment.errors import EffectFailed, MunimentError
    from muniment.event_types import EventData, EventType
    from muniment.events import Event
    from muniment.executing import Done
    from muniment.front import open  # noqa: A004 - muniment.open, as gzip.open
    from muniment.kinds import EffectKind
    from muniment.lanes import Lane as Run
    from muniment.lanes import current_run, effect
    from muniment.ledger import Ledger
    from muniment.projections import Projection
    from muniment.records import RunRecord
    from muniment.replaying import ReplayReport, replay
    from muniment.seams import Answer
    from muniment.verifier import verify

__all__ = [
    "Answer",
    "Done",
    "EffectFailed",
    "EffectKind",
    "Event",
    "EventData",
    "EventType",
    "Ledger",
    "MunimentError",
    "Projection",
    "ReplayReport",
    "Run",
    "RunRecord",
    "current_run",
    "effect",
    "open",
    "replay",
    "verify",
]

_HOMES = {
    "Answer": ".seams",
    "Done": ".executing",
    "EffectFailed": ".errors",
    "EffectKind": ".kinds",
    "Event": ".events",
    "EventData": ".event_types",
    "EventType": ".event_types",
    "Ledger": ".ledger",
    "MunimentError": ".errors",
    "Projection": ".projections",
    "ReplayReport": ".replaying",
    "Run": ".lanes:Lane",
    "RunRecord": ".records",
    "current_run": ".lanes",
    "effect": ".lanes",
    "open": ".front",
    "replay": ".replaying",
    "verify": ".verifier",
}

__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)

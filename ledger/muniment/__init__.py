"""muniment: a signed, hash-chained ledger of what programs and models did.

    import muniment

    with muniment.open(create=True) as ledger:
        ledger.append("note.added", {"text": "reviewed"})

Names are loaded when they are first used: ``import muniment`` is cheap, and ``verify``
never imports the writer.
"""

from __future__ import annotations

from muniment.lazy import lazy

TYPE_CHECKING = False  # as in `typing`, whose import costs more than all of this
if TYPE_CHECKING:
    from muniment.errors import EffectFailed, MunimentError
    from muniment.events.effect_kinds import EffectKind
    from muniment.events.fields import (
        BLOB,
        LARGE,
        PUBLIC,
        TEXT,
        VEILED,
        VOLATILE,
        PlainData,
    )
    from muniment.events.types import EventData, EventType
    from muniment.formats.decisions import Decision, DecisionAnswer
    from muniment.formats.statement import Event
    from muniment.hookspecs import hookimpl, hookspec
    from muniment.keys.enrolment import KeyEntry
    from muniment.ledger import Ledger
    from muniment.open_ledger import open  # noqa: A004 - muniment.open, as gzip.open
    from muniment.queries.filters import EventFilters, RunFilters
    from muniment.queries.projections import Projection
    from muniment.queries.rows import (
        BlobRow,
        CheckpointRow,
        EventRow,
        SubjectRow,
        TileRow,
    )
    from muniment.queries.run_summary import RunSummaries, RunSummary
    from muniment.replays.replay import ReplayReport, replay
    from muniment.runs.decorator import effect
    from muniment.runs.execution import Done
    from muniment.runs.executors import Executor
    from muniment.runs.run import Run, current_run
    from muniment.runs.seams import GateAnswer, RunFacts
    from muniment.runs.waits.asked_decision import AskedDecision
    from muniment.runs.waits.inbox import PendingDecision
    from muniment.verification.bundle.verify import verify_bundle
    from muniment.verification.verify import verify

__all__ = [
    "BLOB",
    "LARGE",
    "PUBLIC",
    "TEXT",
    "VEILED",
    "VOLATILE",
    "AskedDecision",
    "BlobRow",
    "CheckpointRow",
    "Decision",
    "DecisionAnswer",
    "Done",
    "EffectFailed",
    "EffectKind",
    "Event",
    "EventData",
    "EventFilters",
    "EventRow",
    "EventType",
    "Executor",
    "GateAnswer",
    "KeyEntry",
    "Ledger",
    "MunimentError",
    "PendingDecision",
    "PlainData",
    "Projection",
    "ReplayReport",
    "Run",
    "RunFacts",
    "RunFilters",
    "RunSummaries",
    "RunSummary",
    "SubjectRow",
    "TileRow",
    "current_run",
    "effect",
    "hookimpl",
    "hookspec",
    "open",
    "replay",
    "verify",
    "verify_bundle",
]

_HOMES = {
    "AskedDecision": ".runs.waits.asked_decision",
    "BLOB": ".events.fields",
    "BlobRow": ".queries.rows",
    "CheckpointRow": ".queries.rows",
    "Decision": ".formats.decisions",
    "DecisionAnswer": ".formats.decisions",
    "Done": ".runs.execution",
    "EffectFailed": ".errors",
    "EffectKind": ".events.effect_kinds",
    "Event": ".formats.statement",
    "EventData": ".events.types",
    "EventFilters": ".queries.filters",
    "EventRow": ".queries.rows",
    "EventType": ".events.types",
    "Executor": ".runs.executors",
    "GateAnswer": ".runs.seams",
    "KeyEntry": ".keys.enrolment",
    "LARGE": ".events.fields",
    "Ledger": ".ledger",
    "MunimentError": ".errors",
    "PUBLIC": ".events.fields",
    "PendingDecision": ".runs.waits.inbox",
    "PlainData": ".events.fields",
    "Projection": ".queries.projections",
    "ReplayReport": ".replays.replay",
    "Run": ".runs.run",
    "RunFacts": ".runs.seams",
    "RunFilters": ".queries.filters",
    "RunSummaries": ".queries.run_summary",
    "RunSummary": ".queries.run_summary",
    "SubjectRow": ".queries.rows",
    "TEXT": ".events.fields",
    "TileRow": ".queries.rows",
    "VEILED": ".events.fields",
    "VOLATILE": ".events.fields",
    "current_run": ".runs.run",
    "effect": ".runs.decorator",
    "hookimpl": ".hookspecs",
    "hookspec": ".hookspecs",
    "open": ".open_ledger",
    "replay": ".replays.replay",
    "verify": ".verification.verify",
    "verify_bundle": ".verification.bundle.verify",
}

__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)

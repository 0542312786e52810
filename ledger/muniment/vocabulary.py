"""The kernel's event types: the words of the mission, each a past-tense fact.

Rules: what may be personal is marked ``BLOB``; what differs between two honest runs of
the same program is marked ``VOLATILE``. ``docs/reference/events.md`` lists them all.
"""

from __future__ import annotations

from typing import Annotated, Literal

from muniment.event_types import (
    BLOB,
    LARGE,
    PUBLIC,
    TEXT,
    VOLATILE,
    EventType,
    PlainData,
)

__all__ = ["KERNEL_TYPES", "effect_types"]

Free = dict[str, object]


class LedgerOpened(PlainData):
    """The genesis: keys, formats, and what this ledger continues."""

    nonce: str
    formats: dict[str, int]
    keys: list[Free]
    next_root: str
    continues: Free | None = None


class KeyEnrolled(PlainData):
    """A root enrolled a key; the entry carries its proof of possession."""

    keyid: str
    public: str
    roles: list[str]
    possession: dict[str, str]
    name: str | None = None


class KeyRevoked(PlainData):
    """A root ended a key's interval."""

    keyid: str
    reason: str


class KeyRotated(PlainData):
    """A key was replaced; a new root proves itself by the committed hash."""

    old: str
    new: Free
    next_root: str | None = None


class NoteAdded(PlainData):
    """Somebody wrote something down."""

    text: Annotated[str, LARGE]
    details: Annotated[object, BLOB] = None


class BlobErased(PlainData):
    """Contents were erased: which, why, and on what legal basis."""

    blobs: list[str]
    reason: Annotated[str, LARGE]
    legal_basis: str | None = None


class PluginFailed(PlainData):
    """A plugin's observer raised; what it observed stands unharmed."""

    plugin: str
    hook: str
    error_type: str
    message: Annotated[str, BLOB]
    event: int | None = None


class ReplayJudged(PlainData):
    """A replay was compared with its original."""

    replay_of: str
    mode: str
    verdict: str
    compared: int
    guards: list[str]
    findings: Annotated[list[Free], BLOB]
    level: str | None = None


class ClaimStated(PlainData):
    """What is to be shown, and what would show it."""

    id: str
    text: Annotated[str, LARGE]
    acceptance: Annotated[Free, LARGE] = {}


class SpecIssued(PlainData):
    """What synthesised code may do."""

    allowed_imports: list[str] = []
    properties: Annotated[list[Free], LARGE] = []
    contracts: Annotated[list[Free], LARGE] = []
    resources: Free = {}
    id: str | None = None
    allow_non_finite: bool | None = None
    syntax: str | None = None
    """Without it ``try``, ``with``, ``global`` and ``nonlocal`` are refused."""


class SynthesisAttempted(PlainData):
    """Code was offered under a spec, and accepted or refused by a rule."""

    code: Annotated[str, TEXT, PUBLIC, LARGE]
    accepted: bool
    attempt: int = 1
    entrypoint: str | None = None
    origin: str | None = None
    rule: str | None = None
    message: str | None = None
    line: int | None = None
    column: int | None = None


class PropertyTested(PlainData):
    """A metamorphic relation was tested on one execution."""

    name: str
    transform: str
    passed: bool
    metric: str | None = None
    tolerance: float | None = None
    difference: float | None = None
    details: Annotated[object, BLOB] = None


class VerdictReached(PlainData):
    """A verifier judged a hypothesis."""

    hypothesis: str
    verifier: str
    passed: bool | None = None
    result: Annotated[object, LARGE] = None
    source: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    """The p-value within the family of those that the run registered."""
    settings: Annotated[Free | None, LARGE] = None
    inputs: Annotated[list[str] | None, LARGE] = None
    """The scopes of the run whose measurements it was reached on."""
    integrity: Annotated[str | None, VOLATILE] = None
    """Whether what ran is what was registered before."""
    denominator: Annotated[dict[str, int] | None, VOLATILE] = None
    """How many runs of this claim, and of this experiment, the ledger holds with it."""
    level: Annotated[str | None, VOLATILE] = None
    """The weakest level at which the code was held that it stands on."""


class RunStarted(PlainData):
    """A program began: which, with what, under whom."""

    name: str
    program: Free | None = None
    params: Annotated[object, BLOB] = None
    labels: dict[str, str] = {}
    replay_of: str | None = None
    seed: Annotated[str, VOLATILE]
    plugins: Annotated[dict[str, str], VOLATILE] = {}
    environment: Annotated[Free, VOLATILE] = {}
    owner: Annotated[Free, VOLATILE] = {}


class RunResumed(PlainData):
    """A run goes on under a new generation; older ones may not write any more."""

    generation: int
    program: Free | None = None
    owner: Annotated[Free, VOLATILE] = {}
    took_over: bool = False


class RunInterrupted(PlainData):
    """A run was stopped by its user; it can be resumed."""

    reason: str


class RunCompleted(PlainData):
    """A program returned; counts and root prove that no event of it is missing."""

    counts: dict[str, int] | None = None
    root: str
    result: Annotated[object, BLOB] = None
    duration_us: Annotated[int, VOLATILE] = 0


class RunFailed(PlainData):
    """A program raised; counts and root as in `RunCompleted`."""

    counts: dict[str, int] | None = None
    root: str
    error_type: str
    message: Annotated[str, BLOB]
    status: Literal["failed", "refused", "diverged"] = "failed"
    cause: Annotated[list[object] | None, VOLATILE] = None
    """Scope and ordinal of each effect whose failure ended the run, outermost first."""
    duration_us: Annotated[int, VOLATILE] = 0


class ClockRead(PlainData):
    """A program asked for the time; a replay gives the same answer."""

    time: Annotated[str, VOLATILE]


class EffectRequested(PlainData):
    """An effect is about to be performed; durable before it is."""

    request: Annotated[object, BLOB] = None
    about: Annotated[Free | None, VOLATILE, LARGE] = None
    attempt: Annotated[int, VOLATILE] = 1


class EffectStreamed(PlainData):
    """Parts of an answer were handed on; durable before whatever followed them."""

    parts: Annotated[list[object], BLOB]
    """In their order, since the last event of this type."""
    head: Annotated[object, BLOB] = None
    """What came before the parts; of the first event of an attempt alone."""


class EffectCompleted(PlainData):
    """An effect gave a value; durable before the program sees it."""

    value: Annotated[object, BLOB] = None
    about: Annotated[Free | None, VOLATILE, LARGE] = None
    answered_by: Annotated[dict[str, str], VOLATILE] = {}
    duration_us: Annotated[int, VOLATILE] = 0


class EffectFailedData(PlainData):
    """An effect failed; live and replay raise the same from it."""

    error_type: str
    message: Annotated[str, BLOB]
    data: Annotated[object, BLOB] = None
    reason: str | None = None
    answered_by: Annotated[dict[str, str], VOLATILE] = {}
    duration_us: Annotated[int, VOLATILE] = 0


KERNEL_TYPES: tuple[EventType, ...] = (
    EventType("ledger.opened", LedgerOpened),
    EventType("key.enrolled", KeyEnrolled),
    EventType("key.revoked", KeyRevoked),
    EventType("key.rotated", KeyRotated),
    EventType("note.added", NoteAdded),
    EventType("blob.erased", BlobErased),
    EventType("plugin.failed", PluginFailed),
    EventType("replay.judged", ReplayJudged),
    EventType("claim.stated", ClaimStated),
    EventType("spec.issued", SpecIssued),
    EventType("synthesis.attempted", SynthesisAttempted),
    EventType("property.tested", PropertyTested),
    EventType("verdict.reached", VerdictReached),
    EventType("run.started", RunStarted),
    EventType("run.resumed", RunResumed),
    EventType("run.interrupted", RunInterrupted),
    EventType("run.completed", RunCompleted),
    EventType("run.failed", RunFailed),
    EventType("clock.read", ClockRead),
)


def effect_types(kind: str) -> tuple[EventType, ...]:
    """Return the event types of the effect *kind*."""
    return (
        EventType(f"{kind}.requested", EffectRequested),
        EventType(f"{kind}.streamed", EffectStreamed),
        EventType(f"{kind}.completed", EffectCompleted),
        EventType(f"{kind}.failed", EffectFailedData),
    )

"""The kernel's event types, each a past-tense fact.

Rules: fields that may be personal are marked ``BLOB``; fields that differ between two
honest runs of the same program are marked ``VOLATILE``. ``docs/reference/events.md``
lists all types.
"""

from __future__ import annotations

from typing import Annotated, Literal

from muniment.events.types import (
    BLOB,
    LARGE,
    PUBLIC,
    TEXT,
    VEILED,
    VOLATILE,
    EventType,
    PlainData,
)
from muniment.formats.series import series_key
from muniment.formats.statement import Data

__all__ = ["KERNEL_TYPES"]

Free = dict[str, object]


class LedgerOpened(PlainData):
    """The genesis: keys, formats, and the ledger that this one continues."""

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

    text: Annotated[str, LARGE, VEILED]
    details: Annotated[object, BLOB] = None
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class BlobErased(PlainData):
    """Blobs were erased: which ones, why, and on what legal basis."""

    blobs: list[str]
    reason: Annotated[str, LARGE]
    legal_basis: str | None = None


class PluginFailed(PlainData):
    """A plugin's observer raised; the event that it observed is unaffected."""

    plugin: str
    hook: str
    error_type: str
    message: Annotated[str, BLOB]
    event: int | None = None


class PluginRefused(PlainData):
    """A plugin refused an event of a run; nothing of its data is kept."""

    plugin: str
    event_type: str
    scope: str
    reason: Annotated[str, BLOB]


class ReplayJudged(PlainData):
    """A replay was compared with its original."""

    replay_of: str
    mode: str
    verdict: str
    compared: int
    guards: list[str]
    findings: Annotated[list[Free], BLOB]
    level: str | None = None
    details: Annotated[Free | None, BLOB] = None
    """What plugins add, by plugin: their confidence, say, or who accepted it."""
    children: int | None = None
    """How many child runs were replayed and judged with it, if that was asked for."""


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
    remedy: Annotated[str | None, VOLATILE] = None
    """What to write instead; later versions may word it better."""


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
    """The p-value adjusted for the family of hypotheses that the run registered."""
    settings: Annotated[Free | None, LARGE] = None
    inputs: Annotated[list[str] | None, LARGE] = None
    """The scopes of the run whose measurements the verifier used."""
    integrity: Annotated[str | None, VOLATILE] = None
    """Whether what ran is what was registered before."""
    denominator: Annotated[dict[str, int] | None, VOLATILE] = None
    """How many runs of this claim, and of this experiment, the ledger holds with it."""
    level: Annotated[str | None, VOLATILE] = None
    """The weakest isolation level of the code that the verdict depends on."""


class RunStarted(PlainData):
    """A program started: which one, with which params, and who owns the run."""

    name: str
    program: Free | None = None
    params: Annotated[object, BLOB] = None
    labels: dict[str, str] = {}
    labelled: Annotated[dict[str, str] | None, VOLATILE] = None
    """Label → the plugin that gave it: without that, nobody resumes or forks the run."""
    replay_of: str | None = None
    seed: Annotated[str, VOLATILE]
    plugins: Annotated[dict[str, str], VOLATILE] = {}
    environment: Annotated[Free, VOLATILE] = {}
    owner: Annotated[Free, VOLATILE] = {}
    parent: Annotated[dict[str, str] | None, VOLATILE] = None
    """Of a child run: the run that called it, the root of all, the call's key."""
    fork: Annotated[Free | None, VOLATILE] = None
    """Of a fork: the run and event that it follows, and the changed outcomes."""
    changed: Annotated[list[object] | None, BLOB, VOLATILE] = None
    """Of a fork: the values of the changed outcomes, in the order of ``fork.changes``."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class RunResumed(PlainData):
    """A run continues under a new generation; older ones may no longer write."""

    generation: int
    program: Free | None = None
    owner: Annotated[Free, VOLATILE] = {}
    took_over: bool = False
    supersedes: list[object] | None = None
    """Scope and ordinal of each failed effect that is performed again: facts of its scope,
    and of those around it, that follow its failure no longer count."""


class RunInterrupted(PlainData):
    """A run was stopped by its user; it can be resumed."""

    reason: str
    doubt: Annotated[dict[str, str] | None, VOLATILE] = None
    """The decision about the effect in doubt that stopped the run."""


class RunPausedData(PlainData):
    """A run waits, and does nothing until it is resumed."""

    reason: Annotated[str, LARGE, VEILED]
    waits_for: list[str] | None = None
    """The leaf hashes of the events that it wants an answer to."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class RunCanceled(PlainData):
    """Somebody gave a run up from outside; its owner may no longer write."""

    reason: Annotated[str, LARGE, VEILED]
    generation: int
    """One more than that of the owner."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class RunMarked(PlainData):
    """A run got a mark, which nothing takes away again."""

    mark: str
    """A short name: ``non_certifiable``."""
    reason: Annotated[str, LARGE]
    """It is shown to everybody, of a private lane, too: a mark is for whoever reads the run."""


class PauseStated(PlainData):
    """A program asked for a pause; a resume passes it."""

    reason: Annotated[str, LARGE, VEILED]
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class DecisionAsked(PlainData):
    """A program asked people to decide; the run waits until enough of them have."""

    subject: Annotated[object, BLOB]
    """The subject of the decision; people sign its commitment."""
    quorum: int
    """How many people have to approve."""
    prompt: Annotated[str | None, BLOB] = None
    of: list[str] = []
    """The ids of the keys that may answer; empty for every approver."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if the subject is shown to those who decide, and else only if asked for."""


class DecisionGiven(PlainData):
    """Somebody answered: an approver signed, and a writer appended it."""

    envelope: Free
    """A DSSE envelope; its contents can never be erased."""


class DecisionReached(PlainData):
    """A run continues with the decision."""

    asked: Annotated[str, VOLATILE]
    """The leaf hash of the question."""
    outcome: Literal["approved", "denied"]
    answers: Annotated[list[Free], VOLATILE]
    """The answers that count, as signed, each with the leaf hash of its event."""


class DecisionRefused(PlainData):
    """An answer was offered, and refused by a rule."""

    rule: str
    envelope: str
    """The SHA-256 of the offered answer."""
    asked: str | None = None
    """The leaf hash that it names, if that is a question of this ledger."""


class RunCompleted(PlainData):
    """A program returned; counts and root prove that no event of it is missing."""

    counts: dict[str, int] | None = None
    root: str
    result: Annotated[object, BLOB] = None
    duration_us: Annotated[int, VOLATILE] = 0
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


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
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class ClockRead(PlainData):
    """A program asked for the time; a replay gives the same answer."""

    time: Annotated[str, VOLATILE]
    answered_by: Annotated[Free | None, VOLATILE] = None
    """In a fork: the reading in the other run's record that this one repeats."""


def _series_of_claim(data: Data) -> tuple[str, ...]:
    return (series_key("claim", str(data["id"])),)


KERNEL_TYPES: tuple[EventType, ...] = (
    EventType("ledger.opened", LedgerOpened),
    EventType("key.enrolled", KeyEnrolled),
    EventType("key.revoked", KeyRevoked),
    EventType("key.rotated", KeyRotated),
    EventType("note.added", NoteAdded),
    EventType("blob.erased", BlobErased),
    EventType("plugin.failed", PluginFailed),
    EventType("plugin.refused", PluginRefused),
    EventType("replay.judged", ReplayJudged),
    EventType("claim.stated", ClaimStated, series=_series_of_claim),
    EventType("spec.issued", SpecIssued),
    EventType("synthesis.attempted", SynthesisAttempted),
    EventType("property.tested", PropertyTested),
    EventType("verdict.reached", VerdictReached),
    EventType("run.started", RunStarted),
    EventType("run.resumed", RunResumed),
    EventType("run.interrupted", RunInterrupted),
    EventType("run.completed", RunCompleted),
    EventType("run.failed", RunFailed),
    EventType("run.paused", RunPausedData),
    EventType("run.canceled", RunCanceled),
    EventType("run.marked", RunMarked),
    EventType("pause.stated", PauseStated),
    EventType("decision.asked", DecisionAsked),
    EventType("decision.given", DecisionGiven),
    EventType("decision.reached", DecisionReached),
    EventType("decision.refused", DecisionRefused),
    EventType("clock.read", ClockRead),
)

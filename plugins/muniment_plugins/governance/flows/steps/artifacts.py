"""Artifacts and evidence: what steps make and find, with digest, scope and lineage.

    return [{"artifact_id": "draft", "content": {…}},
            {"artifact_id": "cache", "content": {…}, "artifact_type": "executor_state",
             "scope": "ephemeral", "parents": ["draft"]}]

Rules:

- An id is used once in a flow. The digest is that of the canonical content: ``[1, 2]`` and
  ``[2, 1]`` differ.
- Each type has the types that its parents may have (`LINEAGE`), and each producer the
  types that it may make. What has no parent named has its step as parent; ``manifest``,
  ``plan`` and ``step/N`` are ids of what the facts of the flow itself state.
- *working* artifacts are handed to later steps; *audit* ones, too, and the result of the
  flow lists them; of an *ephemeral* one only the digest is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from muniment.documents.places import near
from muniment.encoding.canonical import canonical, parse, sha256_tag
from muniment.encoding.codec import decode, encode
from muniment.encoding.registry import ValueTypes
from muniment_plugins.governance.flows.failed import FlowFailed

__all__ = [
    "ARTIFACT_TYPES",
    "LINEAGE",
    "SCOPES",
    "ArtifactStore",
    "FlowArtifact",
    "FlowEvidence",
    "content_digest",
]

ArtifactType: TypeAlias = Literal[
    "flow_manifest",
    "execution_plan",
    "resolved_step",
    "agent_invocation",
    "retrieval_request",
    "retrieved_evidence",
    "reasoning_step",
    "reasoning_claim",
    "reasoning_bundle",
    "verification_rule",
    "verification_result",
    "execution_event",
    "execution_trace",
    "executor_state",
]
ARTIFACT_TYPES: tuple[str, ...] = get_args(ArtifactType)
SCOPES = ("ephemeral", "working", "audit")

LINEAGE: Mapping[str, frozenset[str]] = {
    "flow_manifest": frozenset(),
    "execution_plan": frozenset({"flow_manifest"}),
    "resolved_step": frozenset({"flow_manifest", "execution_plan"}),
    "agent_invocation": frozenset({"resolved_step"}),
    "retrieval_request": frozenset({"resolved_step"}),
    "retrieved_evidence": frozenset({"retrieval_request"}),
    "reasoning_step": frozenset(
        {"resolved_step", "retrieved_evidence", "agent_invocation"}
    ),
    "reasoning_claim": frozenset(
        {"reasoning_step", "retrieved_evidence", "agent_invocation"}
    ),
    "reasoning_bundle": frozenset({"reasoning_step", "reasoning_claim"}),
    "verification_rule": frozenset({"flow_manifest", "resolved_step"}),
    "verification_result": frozenset(
        {
            "verification_rule",
            "reasoning_bundle",
            "retrieved_evidence",
            "agent_invocation",
        }
    ),
    "execution_event": frozenset({"resolved_step", "verification_result"}),
    "execution_trace": frozenset({"execution_plan", "execution_event"}),
    "executor_state": frozenset({"agent_invocation", "resolved_step"}),
}
"""Type → the types that its parents may have."""
_MAKES: Mapping[str, frozenset[str]] = {
    "flow": frozenset({"flow_manifest", "execution_plan", "resolved_step"}),
    "agent": frozenset({"agent_invocation", "executor_state"}),
    "retrieval": frozenset({"retrieval_request", "retrieved_evidence"}),
    "reasoning": frozenset({"reasoning_step", "reasoning_claim", "reasoning_bundle"}),
}
"""Producer → the types that it may make."""


def content_digest(content: object, values: ValueTypes) -> str:
    """Return the digest of the canonical form of *content*."""
    return sha256_tag(canonical(encode(content, values)))


@dataclass(frozen=True, slots=True)
class FlowArtifact:
    """Something that a step made."""

    artifact_id: str
    artifact_type: str
    producer: str
    scope: str
    parents: tuple[str, ...]
    digest: str
    """SHA-256 of the canonical content."""
    encoded: bytes = field(repr=False)
    values: ValueTypes = field(repr=False, compare=False)

    @property
    def content(self) -> object:
        """A copy of the content."""
        return decode(parse(self.encoded), self.values)

    @property
    def kept(self) -> object:
        """The content as the record has it: nothing of what is ephemeral."""
        return None if self.scope == "ephemeral" else self.content


@dataclass(frozen=True, slots=True)
class FlowEvidence:
    """Something that a retriever found."""

    evidence_id: str
    determinism: str
    """``deterministic``, ``sampled`` or ``external``."""
    source_uri: str
    contract: str
    score: float
    digest: str
    content: object = field(repr=False)


class ArtifactStore:
    """The artifacts of one flow, in memory; the ledger has them as facts."""

    def __init__(self, values: ValueTypes) -> None:
        self._values = values
        self._types: dict[str, str] = {}
        self._made: dict[str, FlowArtifact] = {}

    @property
    def made(self) -> tuple[FlowArtifact, ...]:
        """What agents made, in order."""
        return tuple(self._made.values())

    def note(
        self,
        name: str,
        artifact_type: str,
        producer: str,
        parents: Iterable[str],
        place: str,
    ) -> None:
        """Enter something that other facts state, once its lineage is allowed.

        Raises:
            FlowFailed: the id is taken, or the lineage is not allowed.

        """
        self._require(name, artifact_type, producer, tuple(parents), place)
        self._types[name] = artifact_type

    def add(
        self,
        name: str,
        content: object,
        artifact_type: str,
        scope: str,
        parents: Iterable[str],
        place: str,
    ) -> FlowArtifact:
        """Return what an agent made, once its id, type, scope and lineage are allowed.

        Raises:
            FlowFailed: one of them is not.

        """
        _require_word(scope, SCOPES, "flow/artifact-scope", place)
        self.note(name, artifact_type, "agent", parents, place)
        encoded = canonical(encode(content, self._values))
        made = FlowArtifact(
            artifact_id=name,
            artifact_type=artifact_type,
            producer="agent",
            scope=scope,
            parents=tuple(parents),
            digest=sha256_tag(encoded),
            encoded=encoded,
            values=self._values,
        )
        self._made[name] = made
        return made

    def _require(
        self,
        name: str,
        artifact_type: str,
        producer: str,
        parents: tuple[str, ...],
        place: str,
    ) -> None:
        _require_word(artifact_type, ARTIFACT_TYPES, "flow/artifact-type", place)
        if artifact_type not in _MAKES[producer]:
            raise FlowFailed(
                f"{producer} does not make artifacts of the type {artifact_type}",
                rule="flow/artifact-type",
                place=place,
                remedy=f"it makes {', '.join(sorted(_MAKES[producer]))}",
            )
        if name in self._types:
            raise FlowFailed(
                f"the id {name!r:.80} is taken",
                rule="flow/artifact-id",
                place=place,
                remedy="an id is used once in a flow; choose another",
            )
        allowed = LINEAGE[artifact_type]
        if allowed and not parents:
            raise FlowFailed(
                f"{name!r:.80} has no parent",
                rule="flow/lineage",
                place=place,
                remedy=f"name one of the types {', '.join(sorted(allowed))}",
            )
        for one in parents:
            self._require_parent(one, artifact_type, allowed, place)

    def _require_parent(
        self, name: str, child: str, allowed: frozenset[str], place: str
    ) -> None:
        if name not in self._types:
            raise FlowFailed(
                f"there is no artifact {name!r:.80}",
                rule="flow/lineage",
                place=place,
                remedy=near(name, sorted(self._types)[:20]),
            )
        if self._types[name] not in allowed:
            known = ", ".join(sorted(allowed)) or "nothing"
            raise FlowFailed(
                f"{child} cannot come of {name!r:.80}, which is {self._types[name]}",
                rule="flow/lineage",
                place=place,
                remedy=f"it comes of {known}",
            )


def _require_word(word: object, known: tuple[str, ...], rule: str, place: str) -> None:
    if word not in known:
        raise FlowFailed(
            f"{word!r:.80} means nothing here",
            rule=rule,
            place=place,
            remedy=near(str(word), known),
        )

"""An assembled context: its chunks, the reason for each, and the options it came by."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, cast, get_args

from muniment.documents.places import At
from muniment.documents.shapes import Choice, Numeric, ObjectShape, Text, Whole
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.context.chunks import ContextChunk
from muniment_plugins.workflow.artifacts.plain_json import plain_object

__all__ = [
    "ASSEMBLY",
    "AssembledContext",
    "AssemblyOptions",
    "Dedup",
    "DropReason",
    "DroppedChunk",
    "RankedChunk",
    "Strategy",
    "assembly_options",
]

Dedup: TypeAlias = Literal["none", "chunked", "semantic"]
Strategy: TypeAlias = Literal["recency", "relevance", "round_robin"]
DropReason: TypeAlias = Literal["no_text", "empty_text", "duplicate", "budget_exceeded"]

ASSEMBLY = ObjectShape(
    {},
    {
        "budget_tokens": Whole(),
        "chunk_tokens": Whole(1),
        "dedup": Choice(get_args(Dedup)),
        "strategy": Choice(get_args(Strategy)),
        "query": Text(),
        "semantic_overlap": Numeric(0.5, 1),
    },
)
"""The keys of a context assembler."""


@dataclass(frozen=True, slots=True)
class AssemblyOptions:
    """How a context is assembled."""

    budget_tokens: int = 8000
    chunk_tokens: int = 500
    dedup: Dedup = "chunked"
    strategy: Strategy = "relevance"
    query: str = ""
    semantic_overlap: float = 0.85

    def to_json(self) -> dict[str, JsonValue]:
        """Return the normal form: without defaults."""
        plain = asdict(AssemblyOptions())
        said = {**asdict(self)}
        return {name: one for name, one in said.items() if one != plain[name]}


@dataclass(frozen=True, slots=True)
class DroppedChunk:
    """A chunk that did not come in, or an artifact that has none."""

    artifact_id: str
    reason: DropReason
    chunk_id: str | None = None
    of: str | None = None
    """Of a duplicate: the id of the chunk that was kept."""


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """Why a chunk is where it is, and whether it came in."""

    chunk_id: str
    rank: int
    """From 0."""
    score: float | None
    """What it was ranked by: the share of the query's words, or the relevance; the turn;
    microseconds since 1970. None if its artifact has no relevance."""
    included: bool


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The chunks of a context, in their order, and what became of all others."""

    chunks: tuple[ContextChunk, ...]
    dropped: tuple[DroppedChunk, ...]
    reasons: tuple[RankedChunk, ...]
    budget_tokens: int
    strategy: Strategy
    dedup: Dedup

    @property
    def total_tokens(self) -> int:
        """How many tokens the chunks have."""
        return sum(one.tokens for one in self.chunks)

    @property
    def included(self) -> dict[str, tuple[str, ...]]:
        """Artifact → its chunks that came in."""
        found: dict[str, list[str]] = {}
        for one in self.chunks:
            found.setdefault(one.artifact_id, []).append(one.id)
        return {name: tuple(ids) for name, ids in found.items()}

    def to_json(self) -> dict[str, JsonValue]:
        """Return everything as one JSON object."""
        included = [
            {"artifact_id": name, "chunk_ids": [*ids]}
            for name, ids in self.included.items()
        ]
        return {
            "chunks": [_said(one) for one in self.chunks],
            "included": cast("JsonValue", included),
            "dropped": [_said(one) for one in self.dropped],
            "reasons": [_said(one) for one in self.reasons],
            "total_tokens": self.total_tokens,
            "budget_tokens": self.budget_tokens,
            "strategy": self.strategy,
            "dedup": self.dedup,
        }


def _said(one: ContextChunk | DroppedChunk | RankedChunk) -> dict[str, JsonValue]:
    return {name: value for name, value in asdict(one).items() if value is not None}


def assembly_options(raw: object = None, at: At | None = None) -> AssemblyOptions:
    """Return the options that *raw* describes.

    Raises:
        UsageError: a key is unknown, mistyped, or would have no effect.

    """
    if isinstance(raw, AssemblyOptions):
        return raw
    at = at or At("context_assembler", "workflow")
    said = plain_object({} if raw is None else raw, at)
    ASSEMBLY.check(said, at)
    asked = AssemblyOptions(**said)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - the shape was checked
    for key, other, word in (
        ("query", "strategy", "relevance"),
        ("semantic_overlap", "dedup", "semantic"),
    ):
        if key in said and getattr(asked, other) != word:
            raise at.key(key).wrong(
                f"nothing reads it: {other} is {getattr(asked, other)}",
                "no-effect",
                f"write {other}: {word}, or leave it out",
            )
    return asked

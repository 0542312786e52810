"""Assembling a context from chunks: what comes in, what does not, and why.

    assemble_context([log, code], {"budget_tokens": 8000, "dedup": "semantic",
                                   "strategy": "relevance", "query": "parser spans"})

Rules, one after the other:

1. Chunk. Each text is cut into chunks of ``chunk_tokens``; artifacts without a text, or
   with an empty one, are dropped: ``no_text``, ``empty_text``. Data are not chunked.
2. Rank: the newest artifact first (``recency``); the most relevant first
   (``relevance``): by the share of the words of ``query`` that the chunk has, if there is
   one, then by the artifact's relevance and priority; or the first chunk of each artifact,
   then the second ones (``round_robin``, by priority). Else as they were given.
3. Pack, in this order. A chunk that is like one that is in already is dropped:
   ``duplicate``. Alike are none (``none``), equal ones (``chunked``), or nearly equal ones
   as well (``semantic``: trigrams, Jaccard index of ``semantic_overlap``). What does not
   fit into what is left of ``budget_tokens`` is passed over: ``budget_exceeded``.

A key that would have no effect under the others is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.context.assembled import (
    AssembledContext,
    AssemblyOptions,
    DroppedChunk,
    DropReason,
    RankedChunk,
    assembly_options,
)
from muniment_plugins.workflow.artifacts.context.chunks import ContextChunk, chunks_of
from muniment_plugins.workflow.artifacts.context.near_texts import EqualTexts, NearTexts
from muniment_plugins.workflow.artifacts.context.selection import (
    GivenArtifacts,
    gathered,
)
from muniment_plugins.workflow.artifacts.stamps import microseconds

__all__ = ["assemble_context"]

_Places: TypeAlias = dict[str, tuple[int, Artifact]]
_Scored: TypeAlias = tuple[ContextChunk, float | None]


def assemble_context(
    artifacts: GivenArtifacts, options: object = None
) -> AssembledContext:
    """Return the context that *artifacts* make under *options*.

    Raises:
        UsageError: one of them is no artifact, or an option is none.

    """
    asked = assembly_options(options)
    found, again = gathered(artifacts)
    chunks, dropped = _chunked(found, asked.chunk_tokens)
    by_id = {one.id: (place, one) for place, one in enumerate(found)}
    ranked = _ranked(chunks, by_id, asked)
    given_twice = [DroppedChunk(one.id, "duplicate", of=one.of) for one in again]
    return _packed(ranked, [*given_twice, *dropped], asked)


def _chunked(
    artifacts: Sequence[Artifact], most: int
) -> tuple[list[ContextChunk], list[DroppedChunk]]:
    chunks: list[ContextChunk] = []
    dropped: list[DroppedChunk] = []
    for one in artifacts:
        if one.text is None:
            dropped.append(DroppedChunk(one.id, "no_text"))
        elif not one.text.strip():
            dropped.append(DroppedChunk(one.id, "empty_text"))
        else:
            chunks += chunks_of(one, most)
    return chunks, dropped


def _ranked(
    chunks: Sequence[ContextChunk], places: _Places, asked: AssemblyOptions
) -> list[_Scored]:
    words = _words(asked.query)
    keyed = [_keyed(one, *places[one.artifact_id], words, asked) for one in chunks]
    keyed.sort(key=lambda found: found[0])
    return [scored for _, scored in keyed]


def _keyed(
    chunk: ContextChunk,
    place: int,
    origin: Artifact,
    words: set[str],
    asked: AssemblyOptions,
) -> tuple[tuple[float, ...], _Scored]:
    """Return what a chunk is sorted by, and the score that says so."""
    after = (-origin.priority, place, chunk.number)
    if asked.strategy == "recency":
        time = microseconds(origin.created_at)
        return (-time, place, chunk.number), (chunk, time)
    if asked.strategy == "round_robin":
        return (chunk.number, *after), (chunk, chunk.number)
    overlap = len(words & _words(chunk.text)) / len(words) if words else 0.0
    relevance = origin.relevance
    known = (1, 0.0) if relevance is None else (0, -relevance)
    return (-overlap, *known, *after), (chunk, overlap if words else relevance)


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.casefold())}


def _packed(
    ranked: Sequence[_Scored],
    dropped: Sequence[DroppedChunk],
    asked: AssemblyOptions,
) -> AssembledContext:
    left = asked.budget_tokens
    seen = _seen([one for one, _ in ranked], asked)
    chunks: list[ContextChunk] = []
    out: list[DroppedChunk] = []
    reasons: list[RankedChunk] = []
    for rank, (one, score) in enumerate(ranked):
        like = seen.like(one.id)
        comes_in = like is None and one.tokens <= left
        if comes_in:
            left -= one.tokens
            chunks.append(one)
            seen.keep(one.id)
        else:
            reason: DropReason = "budget_exceeded" if like is None else "duplicate"
            out.append(DroppedChunk(one.artifact_id, reason, one.id, like))
        reasons.append(RankedChunk(one.id, rank, score, comes_in))
    return AssembledContext(
        chunks=tuple(chunks),
        dropped=(*dropped, *out),
        reasons=tuple(reasons),
        budget_tokens=asked.budget_tokens,
        strategy=asked.strategy,
        dedup=asked.dedup,
    )


class _Seen(Protocol):
    """The chunks that are in, by which others are duplicates."""

    def like(self, name: str) -> str | None:
        """Return the chunk that this one is like."""
        ...

    def keep(self, name: str) -> None:
        """Have others compared with this one."""
        ...


def _seen(chunks: Sequence[ContextChunk], asked: AssemblyOptions) -> _Seen:
    texts = {one.id: one.text for one in chunks}
    if asked.dedup == "semantic":
        return NearTexts(texts, asked.semantic_overlap)
    return EqualTexts(texts if asked.dedup == "chunked" else {})

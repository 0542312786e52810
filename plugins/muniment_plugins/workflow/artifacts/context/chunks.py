"""Chunks: pieces of an artifact's text, of a size, called by what is in them.

    chunks_of(log, 500)     [ContextChunk("artifact_1#9f86d081884c7d65", …), …]

Rules:

- The chunks of an artifact, joined, are its text. A chunk ends with a paragraph if it can,
  else with a line, else between characters.
- The id is that of the artifact and the first 16 digits of the SHA-256 of the chunk's
  text. If an artifact has a chunk twice, the second one's id ends with ``.2``.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.texts import (
    BYTES_PER_TOKEN,
    boundary,
    tokens_of,
)

__all__ = ["ContextChunk", "chunks_of"]

_ENDS = (re.compile(r"(?<=\n\n)(?!\n)"), re.compile(r"(?<=\n)"))
"""Where paragraphs end, and lines."""


@dataclass(frozen=True, slots=True)
class ContextChunk:
    """A piece of an artifact's text."""

    id: str
    artifact_id: str
    title: str | None
    """That of the artifact."""
    number: int
    """Which one of the artifact it is, from 0."""
    text: str
    tokens: int


def chunks_of(artifact: Artifact, most: int) -> list[ContextChunk]:
    """Return the chunks of an artifact, of at most *most* tokens each."""
    seen = Counter[str]()
    found: list[ContextChunk] = []
    for number, text in enumerate(_pieces(artifact.text or "", most * BYTES_PER_TOKEN)):
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        seen[digest] += 1
        again = f".{seen[digest]}" if seen[digest] > 1 else ""
        name = f"{artifact.id}#{digest}{again}"
        tokens = tokens_of(text)
        found.append(
            ContextChunk(name, artifact.id, artifact.title, number, text, tokens)
        )
    return found


def _pieces(text: str, most: int) -> Iterator[str]:
    """Yield pieces of at most *most* bytes, as few as their ends allow."""
    held: list[str] = []
    size = 0
    for unit in _units(text, most, 0):
        length = len(unit.encode())
        if held and size + length > most:
            yield "".join(held)
            held, size = [], 0
        held.append(unit)
        size += length
    if held:
        yield "".join(held)


def _units(text: str, most: int, level: int) -> Iterator[str]:
    """Yield *text* in parts that fit: as it is, else by paragraphs, lines, characters."""
    data = text.encode()
    if len(data) <= most:
        if text:
            yield text
        return
    if level < len(_ENDS):
        for part in _ENDS[level].split(text):
            yield from _units(part, most, level + 1)
        return
    start = 0
    while start < len(data):
        end = boundary(data, min(start + most, len(data)))
        yield data[start:end].decode()
        start = end

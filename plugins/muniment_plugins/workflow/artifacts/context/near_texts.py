"""Texts that are the same, or nearly: sets of three characters that have most in common.

    near = NearTexts({"a": "one text here", "b": "One  text here"}, 0.85)
    near.keep("a")
    near.like("b")          "a"

Two texts are alike if the Jaccard index of their trigrams is at least the given one.
Case and runs of spaces do not count.

Rules: the answer is exact. Two texts that are alike share one of their rarest trigrams
(prefix filtering), so that only those that do are looked at. Of these, signatures of a
fixed size tell most apart: as many bits differ at most as trigrams do. Only what is left
is compared trigram by trigram.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["EqualTexts", "NearTexts"]

_LENGTH = 3
_BITS = 4096
_SLACK = 1e-9
"""Products of floats may be a little too large."""


@dataclass(frozen=True, slots=True)
class _Sketch:
    """What is known of a text."""

    grams: frozenset[str]
    rarest: tuple[str, ...]
    """Of which texts that are alike share one at least."""
    signature: int


class EqualTexts:
    """Texts of which some are kept; those that are equal to one are like it."""

    __slots__ = ("_kept", "_texts")

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Take *texts* by name; one that is not among them is like none."""
        self._texts = texts
        self._kept: dict[str, str] = {}

    def keep(self, name: str) -> None:
        """Have later texts compared with this one, too."""
        if name in self._texts:
            self._kept.setdefault(self._texts[name], name)

    def like(self, name: str) -> str | None:
        """Return the kept text that this one is equal to; None if there is none."""
        return self._kept.get(self._texts[name]) if name in self._texts else None


class NearTexts:
    """Texts of which some are kept, and all others compared with those."""

    __slots__ = ("_index", "_kept", "_least", "_sketches")

    def __init__(self, texts: Mapping[str, str], least: float) -> None:
        """Take *texts* by name; alike are those whose index is from *least*, 0.5 to 1."""
        grams = {name: _trigrams(text) for name, text in texts.items()}
        counts = Counter(gram for found in grams.values() for gram in found)
        order = sorted(counts, key=lambda gram: (counts[gram], gram))
        ranks = {gram: rank for rank, gram in enumerate(order)}
        self._least = least
        self._sketches = {
            name: _sketched(found, ranks, least) for name, found in grams.items()
        }
        self._kept: list[str] = []
        self._index: dict[str, list[int]] = {}

    def keep(self, name: str) -> None:
        """Have later texts compared with this one, too."""
        for gram in self._sketches[name].rarest:
            self._index.setdefault(gram, []).append(len(self._kept))
        self._kept.append(name)

    def like(self, name: str) -> str | None:
        """Return the first kept text that this one is like; None if there is none."""
        sketch = self._sketches[name]
        found = [self._index[gram] for gram in sketch.rarest if gram in self._index]
        nearby = {number for numbers in found for number in numbers}
        like = [
            number
            for number in nearby
            if _alike(sketch, self._sketches[self._kept[number]], self._least)
        ]
        return self._kept[min(like)] if like else None


def _trigrams(text: str) -> frozenset[str]:
    plain = " ".join(text.casefold().split())
    ends = range(max(1, len(plain) - _LENGTH + 1))
    return frozenset(plain[start : start + _LENGTH] for start in ends)


def _sketched(grams: frozenset[str], ranks: Mapping[str, int], least: float) -> _Sketch:
    ranked = sorted(grams, key=ranks.__getitem__)
    common = math.ceil(least * len(ranked) - _SLACK)
    bits = bytearray(_BITS // 8)
    for gram in ranked:
        bit = ranks[gram] % _BITS
        bits[bit // 8] |= 1 << bit % 8
    rarest = tuple(ranked[: len(ranked) - common + 1])
    return _Sketch(grams, rarest, int.from_bytes(bits, "big"))


def _alike(one: _Sketch, other: _Sketch, least: float) -> bool:
    together = len(one.grams) + len(other.grams)
    apart = together * (1 - least) / (1 + least) + _SLACK  # that only one may have
    if (one.signature ^ other.signature).bit_count() > apart:
        return False
    common = len(one.grams & other.grams)
    return common >= least * (together - common) - _SLACK

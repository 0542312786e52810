"""Texts by their size: tokens as they are estimated, and cuts between characters."""

from __future__ import annotations

__all__ = ["BYTES_PER_TOKEN", "boundary", "tokens_in", "tokens_of"]

BYTES_PER_TOKEN = 4


def tokens_of(text: str) -> int:
    """Return how many tokens *text* is taken for: a quarter of its UTF-8 bytes."""
    return tokens_in(len(text.encode()))


def tokens_in(size: int) -> int:
    """Return how many tokens *size* bytes of text are taken for, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def boundary(data: bytes, position: int) -> int:
    """Return the last place from *position* on backwards that no character spans."""
    while 0 < position < len(data) and data[position] & 0xC0 == 0x80:  # noqa: PLR2004 - UTF-8
        position -= 1
    return position

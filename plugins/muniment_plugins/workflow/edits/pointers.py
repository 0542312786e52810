"""JSON Pointers (RFC 6901): where something stands in a JSON document.

    tokens_of("/nodes/a~1b/retry_policy")      ('nodes', 'a/b', 'retry_policy')
    pointer_to(("nodes", "a/b"))               '/nodes/a~1b'

Rules:

- The empty pointer is the document itself. In a part, ``~0`` is ``~`` and ``~1`` is ``/``;
  any other ``~`` is a mistake.
- An index is written without a sign and without leading zeros; ``-`` is the place after
  the last item, where something can be added, and nothing else is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from muniment.documents.places import At

__all__ = ["Tokens", "index_in", "pointer_to", "tokens_of"]

Tokens: TypeAlias = tuple[str, ...]

_ODD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


def tokens_of(pointer: str, at: At) -> Tokens:
    """Return the tokens of *pointer*, which stands at *at*.

    Raises:
        UsageError: it is no JSON Pointer.

    """
    if not pointer:
        return ()
    if not pointer.startswith("/") or _ODD_ESCAPE.search(pointer):
        raise at.wrong(
            f"{pointer!r:.80} is no JSON Pointer",
            "pointer",
            "begin with /, and write ~ as ~0 and / as ~1 in a name",
        )
    parts = pointer[1:].split("/")
    return tuple(one.replace("~1", "/").replace("~0", "~") for one in parts)


def pointer_to(tokens: Iterable[str]) -> str:
    """Return the pointer with these *tokens*."""
    return "".join(f"/{one.replace('~', '~0').replace('/', '~1')}" for one in tokens)


def index_in(part: str, size: int, at: At, *, adding: bool = False) -> int:
    """Return the index that *part* is in a list of *size* items.

    Raises:
        UsageError: it is none, or there is no such item.

    """
    if adding and part == "-":
        return size
    if not _INDEX.fullmatch(part):
        raise at.wrong(
            f"{part!r:.40} is no index of a list",
            "patch-target",
            "write a number from 0, without leading zeros",
        )
    number = int(part)
    if number >= size + adding:
        raise at.wrong(
            f"there is no item {number}: the list has {size}", "patch-target"
        )
    return number

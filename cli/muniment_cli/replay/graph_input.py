"""Documents that a command line names: a file, or ``-`` for what comes by a pipe.

Rules:

- What comes by a pipe is read once: JSON, else YAML, of at most 1 MiB. Messages call it
  ``stdin``; functions are looked for in the folder where the command runs.
- A terminal is no pipe: nobody types a graph, so ``-`` is refused there.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muniment.encoding.canonical import JsonValue

__all__ = ["STDIN", "ceiling_in", "read_graph_document", "shown_name"]

STDIN = "-"
_MOST = 1 << 20


def shown_name(target: str) -> str:
    """Return what messages call *target*."""
    return "stdin" if target == STDIN else target


def read_graph_document(target: str, family: str = "workflow") -> dict[str, JsonValue]:
    """Return the document in the file *target*, or that of the pipe.

    Raises:
        UsageError: it cannot be read.

    """
    from muniment.documents.reading import parse_document, read_document

    if target == STDIN:
        return parse_document(_piped(), family, shown_name(target))
    return read_document(Path(target), family)


def ceiling_in(path: Path | None) -> Mapping[str, JsonValue] | None:
    """Return the capability policy in the file *path*; None without one.

    Raises:
        UsageError: it cannot be read, or is none.

    """
    if path is None:
        return None
    from muniment.documents.reading import read_document
    from muniment_plugins.workflow.ceilings.policy import policy_of

    return policy_of(read_document(path, "workflow"), str(path)).document()


@cache
def _piped() -> bytes:
    from muniment.errors import UsageError

    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "nothing comes by a pipe",
            rule="workflow/file",
            place=shown_name(STDIN),
            remedy="name a file, or write `… < graph.json`",
        )
    return sys.stdin.buffer.read(_MOST + 1)

"""Directories that a command makes because a user named them.

Rules: a command makes the directory that it was given, and no directory above it: a path
with more than its end missing was mistyped more often than meant.
"""

from __future__ import annotations

import os
from pathlib import Path

from muniment.errors import UsageError
from muniment_cli.terminal.advice import quoted

__all__ = ["require_parent", "write_or_refuse"]


def require_parent(named: Path) -> None:
    """Refuse to make *named*, a file or directory, if the directory above is missing.

    Raises:
        UsageError: it is.

    """
    parent = named.absolute().parent
    try:
        os.lstat(parent)
    except FileNotFoundError:
        raise UsageError(
            "the directory above it is missing",
            rule="directory/missing",
            place=str(named),
            remedy=f"correct the path, or make it with `mkdir -p {quoted(str(parent))}`",
        ) from None
    except OSError:  # whoever makes it says why that cannot be done
        return


def write_or_refuse(path: Path, content: bytes) -> None:
    """Write *content* to the new file *path*.

    Raises:
        UsageError: it is there already, or cannot be written.

    """
    from muniment.files.folder import write_new

    try:
        write_new(path, [content])
    except OSError as error:
        raise UsageError(
            f"it cannot be written ({error.strerror})",
            rule="cli/output",
            place=str(path),
            remedy="choose another name",
        ) from None

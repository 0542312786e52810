"""Files and directories that a command makes, because a user named them or for itself.

Rules:

- A command makes the directory that it was given, and no directory above it: a path with
  more than its end missing was mistyped more often than meant.
- Under a umask that takes its own files from it, nothing is begun that needs new ones.
"""

from __future__ import annotations

import os
from pathlib import Path

from muniment.errors import UsageError
from muniment_cli.terminal.advice import quoted

__all__ = ["require_own_files", "require_parent", "write_or_refuse"]

_OWNERS = 0o700
"""The bits of a mode that say what the owner may do."""


def require_own_files() -> None:
    """Refuse to go on where a file that this process makes is one that it cannot use.

    Raises:
        UsageError: the umask is to blame.

    """
    mask = os.umask(0o077)  # it can be read by setting it alone
    os.umask(mask)
    if not mask & _OWNERS or _can_use_own():
        return
    raise UsageError(
        f"with the umask {mask:04o}, muniment cannot use the files that it makes itself",
        rule="cli/umask",
        place="umask",
        remedy="run `umask 077` first, or another one that leaves the owner all rights",
    )


def _can_use_own() -> bool:
    """Tell whether a new file in a new directory can be written and read again."""
    import shutil
    import tempfile

    place = Path(tempfile.mkdtemp(prefix="muniment-"))
    try:
        (place / "file").write_bytes(b"1")
        (place / "file").read_bytes()
    except PermissionError:
        return False
    else:
        return True
    finally:
        place.chmod(_OWNERS)
        shutil.rmtree(place, ignore_errors=True)


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

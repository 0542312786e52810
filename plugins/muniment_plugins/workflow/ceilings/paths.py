"""Paths and roots: what is below what, by the text alone.

    normal_path("src/../lib//a.py", "/srv")     '/srv/lib/a.py'
    contains("/srv/lib", "/srv/lib/a.py")      True
    contains("/srv/lib", "/srv/library")       False

Rules:

- Paths are POSIX, compared character by character after ``.``, ``..``, ``//`` and
  trailing slashes are resolved in the text. A relative path begins at a stated base;
  without one it stays relative, and must not lead above its beginning.
- Texts alone do not tell where a path leads: after a symbolic link ``..`` is the folder
  above where the link leads. So what is inside by its text is looked at once more where
  the file is opened, by `follow_links`, the one function here that reads a file system.
  Roots and bases are plain: in them no ``..`` comes after a name.
- What somebody else may read as another path is refused: ``~`` and ``$`` at the
  beginning, backslashes, schemes and drives, NUL and control characters, invisible
  characters, percent-encoded separators, characters that look like ``/`` or ``.``,
  spaces at the ends of a part.
- In path patterns ``*`` stays within one segment and ``**`` is any number of segments;
  at the end it is at least one. ``src/`` is ``src/**``. The base itself, and ``/``, match
  no wildcard.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from muniment.documents.places import At
from muniment_plugins.workflow.ceilings.names import glob_match

__all__ = [
    "absolute_base",
    "contains",
    "follow_links",
    "meet_roots",
    "normal_path",
    "normal_path_pattern",
    "normal_root",
    "path_fault",
    "path_matches",
    "widest",
]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ENCODED = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
_LONGEST = 4096


def path_fault(path: str) -> str:
    """Return why *path* could be read as another one; empty if it cannot."""
    return next((why for wrong, why in _FAULTS if wrong(path)), "") or (
        "" if path.isascii() and path.isprintable() else _character_fault(path)
    )


def _replaced(path: str) -> bool:
    return path.startswith(("~", "$")) or "/~" in path


def _spaced(path: str) -> bool:
    return any(one != one.strip() for one in path.split("/"))


_FAULTS: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda path: not path, "it is empty"),
    (lambda path: len(path) > _LONGEST, "it is too long"),
    (_spaced, "a part of it begins or ends with a space"),
    (lambda path: "\\" in path, "it has a backslash"),
    (_replaced, "somebody would replace a part of it: ~ or $"),
    (_SCHEME.match, "it begins with a scheme or a drive"),
    (_ENCODED.search, "it has an encoded separator or dot"),
)


def _character_fault(path: str) -> str:
    for one in path:
        if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
            return f"it has the character U+{ord(one):04X}, which nobody sees"
        if not one.isascii() and set(unicodedata.normalize("NFKC", one)) & set(
            "/\\.~:$%"
        ):
            return f"it has U+{ord(one):04X}, which looks like a separator"
    return ""


def normal_path(path: str, base: str | None = None) -> str | None:
    """Return *path* in its one spelling, from *base* if it is relative.

    None if it leads above its beginning and nothing says where that is.
    """
    joined = path if base is None else posixpath.join(base, path)
    found = posixpath.normpath(joined)
    if found.startswith("//"):
        found = found[1:]
    return None if found == ".." or found.startswith("../") else found


def normal_root(root: str, base: str | None, at: At) -> str:
    """Return *root* in its one spelling, from *base* if it is relative.

    Raises:
        UsageError: it can be read as another path, leads above its beginning, or has a
            ``..`` after a name, which may be that of a link.

    """
    fault = path_fault(root) or _upwards_fault(root)
    if fault:
        raise at.wrong(
            f"{root!r:.80} is no root: {fault}", "path", "write a plain path"
        )
    found = normal_path(root, base)
    if found is None:
        raise at.wrong(
            f"{root!r:.80} leads above its beginning",
            "path",
            "state the base, or write an absolute path",
        )
    return found


def _upwards_fault(root: str) -> str:
    names = False
    for one in root.split("/"):
        if names and one == "..":
            return "it leads upwards from a name, which may be that of a link"
        names = names or one not in {"", ".", ".."}
    return ""


def absolute_base(base: str) -> str:
    """Return the absolute folder *base* in its one spelling.

    Raises:
        UsageError: it is not absolute, or can be read as another one.

    """
    at = At("base", "workflow")
    if not base.startswith("/"):
        raise at.wrong(f"{base!r:.80} is not absolute", "path", "begin it with /")
    return normal_root(base, None, at)


def contains(root: str, path: str) -> bool:
    """Tell whether *path* is *root* or below it; both are in their one spelling."""
    if root == ".":
        return not path.startswith("/")
    if root == "/":
        return path.startswith("/")
    return path == root or path.startswith(f"{root}/")


def widest(roots: Iterable[str]) -> tuple[str, ...]:
    """Return *roots*, sorted, without those that are below another one."""
    whole = set(roots)
    return tuple(
        sorted(
            one
            for one in whole
            if not any(other != one and contains(other, one) for other in whole)
        )
    )


def meet_roots(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    """Return the roots below which is exactly what is below both lists of roots."""
    mine, theirs = tuple(one), tuple(other)
    inner = [a for a in mine if any(contains(b, a) for b in theirs)]
    return widest([*inner, *(b for b in theirs if any(contains(a, b) for a in mine))])


def follow_links(path: str, base: str | None) -> str | None:
    """Return the file that the system opens for *path* in the folder *base*.

    It is absolute, and leads over no link. The answer holds until somebody moves one, so
    it is this path that is opened, and not the one that was asked for.

    Returns:
        None for a relative path without a base, and for one over links in a circle, which
        the system does not follow either.

    Raises:
        UsageError: the path can be read as another one.

    """
    fault = path_fault(path)
    if fault:
        at = At("path", "workflow")
        raise at.wrong(f"{path!r:.80} is no path: {fault}", "path")
    if base is None and not path.startswith("/"):
        return None
    found = os.path.realpath(posixpath.join(base or "/", path))
    led = found[1:] if found.startswith("//") else found
    place = Path(led)  # of links in a circle, `realpath` gives one of them
    circle = any(one.is_symlink() for one in (place, *place.parents))
    return None if circle or os.path.realpath(led) != led else led


def normal_path_pattern(pattern: str, at: At) -> str:
    """Return a pattern of paths in its one spelling.

    Raises:
        UsageError: it can be read as another one, or has a ``..``.

    """
    fault = path_fault(pattern)
    if not fault and ".." in pattern.split("/"):
        fault = "it leads upwards"
    if fault:
        raise at.wrong(f"{pattern!r:.80} is no pattern of paths: {fault}", "path")
    below = f"{pattern}**" if pattern.endswith("/") else pattern
    found = posixpath.normpath(below)
    return found[1:] if found.startswith("//") else found


def path_matches(pattern: str, path: str) -> bool:
    """Tell whether *pattern* matches all of *path*; both are in their one spelling."""
    if path in (".", "/"):
        return pattern == path
    return _segments_match(tuple(pattern.split("/")), tuple(path.split("/")))


def _segments_match(patterns: Sequence[str], segments: Sequence[str]) -> bool:
    """Follow all ways through *patterns* at once, so that no pattern takes long."""
    live = _beyond({0}, patterns)
    for segment in segments:
        taken = set[int]()
        for at in live - {len(patterns)}:
            if patterns[at] == "**":
                taken |= {at, at + 1}
            elif glob_match(patterns[at], segment):
                taken.add(at + 1)
        live = _beyond(taken, patterns)
    return len(patterns) in live


def _beyond(live: set[int], patterns: Sequence[str]) -> set[int]:
    """Return *live* and what follows where ``**`` is no segment; not at the end."""
    found = set(live)
    for at in range(len(patterns) - 1):
        if at in found and patterns[at] == "**":
            found.add(at + 1)
    return found

"""Which form a file of evidence has: told by its content, since files get other names.

Rules:

- The first bytes decide, whatever the file is called: people, and their mail programs,
  rename what they were sent.
- Only where they say nothing does the ending of the name count, so that a file that was
  damaged at its start is still told what is wrong with it.
- Only regular files are opened: reading anything else may block forever.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

__all__ = ["KNOWN", "Form", "form_of", "is_unknown"]

Form = Literal["zip", "html", "markdown", "database", "unknown"]

KNOWN = (
    "known are a ledger, an evidence bundle (a folder or a zip file), a proof of "
    "`muniment prove`, and a page of `muniment report` (HTML or Markdown)"
)
_SHOWN = 512
"""How many bytes say what a file is."""
_ZIP = (b"PK\3\4", b"PK\5\6")
_DATABASE = b"SQLite format 3\0"
_HTML = b"<!doctype html"
_MARKDOWN = b"# Evidence report"
_ENDINGS: dict[str, Form] = {
    ".zip": "zip",
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".db": "database",
}


def form_of(path: Path) -> Form:
    """Return the form of the file *path*; of what is no file, by its name alone."""
    return _told(_start(path)) or _ENDINGS.get(path.suffix.lower(), "unknown")


def is_unknown(path: Path) -> bool:
    """Tell whether *path* is a file of which neither content nor name says anything."""
    return path.is_file() and form_of(path) == "unknown"


def _start(path: Path) -> bytes:
    from muniment.files.folder import open_file

    try:
        with os.fdopen(open_file(path, os.O_RDONLY, follow=True), "rb") as file:
            return file.read(_SHOWN)
    except OSError:
        return b""  # whoever reads all of it says why that is not possible


def _told(start: bytes) -> Form | None:
    if start.startswith(_DATABASE):
        return "database"
    if start.startswith(_ZIP):
        return "zip"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[: len(_HTML)].lower() == _HTML:
        return "html"
    return "markdown" if text.startswith(_MARKDOWN) else None

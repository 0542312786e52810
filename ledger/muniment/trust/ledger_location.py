"""The spelling of a ledger's place, so that it is remembered once.

    lab/ledger.db   sqlite:///lab/ledger.db   →   /srv/lab/ledger.db
    PostgreSQL+psycopg://ada:secret@db/lab    →   postgresql://ada@db/lab

Rules:

- A file has two spellings: the path as written, made absolute, and the path that it
  leads to, its name in the real place of its folder. A link that somebody puts anywhere
  on the way changes at most one of them; a link in place of the file is not followed.
- The trust home keeps places as text: of one whose path has bytes that are not UTF-8,
  nothing can be remembered, so no ledger is made or written to there. Reading one goes on.
- Another database has one spelling, its URL without driver and password: another login
  does not make it another place.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from muniment.errors import UsageError
from muniment.files.folder import real_place

__all__ = ["leads_to", "rememberable", "spellings"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_USER = re.compile(r"([^/@:]*)(?::.*)?@([^@]*)", re.DOTALL)


def leads_to(url_or_path: str | os.PathLike[str]) -> str:
    """Return the one spelling of a ledger's place, never with a password.

    A SQLite file is its name in the real place of its folder. An ``@`` after the host
    of a URL is written ``%40``, or it would be taken for the end of a password.

    Raises:
        UsageError: a database in memory has no location.

    """
    text = os.fspath(url_or_path)
    path = _file(text)
    if path is not None:
        return os.path.normcase(real_place(Path(path)))
    scheme, _, rest = text.partition("://")
    user = _USER.fullmatch(rest)
    if user is not None:
        rest = f"{user[1]}@{user[2]}" if user[1] else user[2]
    base, _, query = rest.partition("?")
    kept = [item for item in query.split("&") if not _is_secret(item)]
    found = f"{scheme.lower().partition('+')[0]}://{base}"
    return found + ("?" + "&".join(kept) if any(kept) else "")


def spellings(url_or_path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the spellings of a ledger's place: as written first, then real."""
    path = _file(os.fspath(url_or_path))
    real = leads_to(url_or_path)
    if path is None:
        return (real,)
    written = Path(path).absolute()
    if ".." in written.parts:  # after a link it leads elsewhere than it looks
        return (real,)
    return tuple(dict.fromkeys((os.path.normcase(written), real)))


def rememberable(url_or_path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the spellings of a ledger's place, if they can be remembered.

    Raises:
        UsageError: the path has bytes that are not UTF-8.

    """
    found = spellings(url_or_path)
    for place in found:
        try:
            place.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(place).decode("utf-8", "backslashreplace")
            raise UsageError(
                "the path has bytes that are not UTF-8, and cannot be remembered",
                rule="trust/location",
                place=shown,
                remedy="use a folder with a name in UTF-8; a ledger that is here can be "
                "read, and moved there",
            ) from None
    return found


def _file(text: str) -> str | None:
    """Return the path of the SQLite file that *text* names; None for another URL."""
    url = _URL.fullmatch(text)
    if url is None:
        return text
    if url[1].lower().partition("+")[0] != "sqlite":
        return None
    path = url[2].partition("?")[0].removeprefix("/")
    if path in ("", ":memory:"):
        raise UsageError(
            "a database in memory has no location",
            rule="trust/location",
            remedy="give a file: sqlite:///PATH",
        )
    return path


def _is_secret(item: str) -> bool:
    return item.partition("=")[0].lower() in ("password", "sslpassword")

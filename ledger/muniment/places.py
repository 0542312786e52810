"""The places of ledgers: by name, or found without one.

    sqlite_path("sqlite:///runs.db")    Path("runs.db")
    discover()                          Path("/srv/lab/.muniment/ledger.db")

Rules: ``MUNIMENT_LEDGER`` names one; else ``.muniment/ledger.db`` is searched for
upwards from the working directory, as git searches for ``.git``.
"""

from __future__ import annotations

import os
from pathlib import Path

from muniment.errors import UsageError
from muniment.programs.import_guard import refuse_opening
from muniment.trust.home import TrustHome

__all__ = ["DEFAULT_PLACE", "LEDGER_VARIABLE", "discover", "sqlite_path"]

DEFAULT_PLACE = Path(".muniment") / "ledger.db"
LEDGER_VARIABLE = "MUNIMENT_LEDGER"


def sqlite_path(url: str | os.PathLike[str]) -> Path:
    """Return the file that *url* names.

    Raises:
        UsageError: the URL names another kind of database.

    """
    text = os.fspath(url)
    if text.startswith("sqlite:///"):
        text = text.removeprefix("sqlite:///").partition("?")[0]
    elif "://" in text:
        raise UsageError(
            f"{text.split('://', 1)[0]} ledgers are not supported by this version",
            rule="store/url",
            remedy="give a path, or sqlite:///PATH",
        )
    if text in {"", ":memory:"}:
        raise UsageError(
            "a ledger is a file",
            rule="store/url",
            remedy="give a path, or sqlite:///PATH",
        )
    return Path(text)


def discover(start: Path | None = None, home: TrustHome | None = None) -> Path | None:
    """Return the ledger that ``MUNIMENT_LEDGER`` or the directories above name.

    A place where the trust home remembers a ledger is found even if the file is gone,
    so that the caller learns of the loss.
    """
    refuse_opening()
    named = os.environ.get(LEDGER_VARIABLE)
    if named:
        return sqlite_path(named)
    here, known = (start or _working_directory()).absolute(), home or TrustHome()
    for directory in (here, *here.parents):
        place = directory / DEFAULT_PLACE
        if os.path.lexists(place) or known.ledger_at(str(place)) is not None:
            return place
    return None


def _working_directory() -> Path:
    """Return the working directory as the shell spells it, links included."""
    real, told = Path.cwd(), os.environ.get("PWD", "")
    try:
        same = os.path.isabs(told) and os.path.samefile(told, real)  # noqa: PTH117, PTH121
    except (OSError, ValueError):
        return real
    return Path(told) if same else real

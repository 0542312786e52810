"""Where the trust home is: ``MUNIMENT_HOME``, else the platform's place for user data.

Rule: a user without a home directory, as in most containers, can still read and verify:
nothing is known there. Only writing needs a home.
"""

from __future__ import annotations

import os
from pathlib import Path

from muniment.errors import CannotTellError

__all__ = ["HOME_VARIABLE", "default_home", "refuse_no_home"]

HOME_VARIABLE = "MUNIMENT_HOME"
_NOWHERE = Path("/nonexistent/muniment")
"""The home of a user who has none; only root could make it."""


def default_home() -> Path:
    """Return the trust home of this user, whether or not it is there."""
    named = os.environ.get(HOME_VARIABLE)
    if named:
        return Path(named)
    import platformdirs  # noqa: PLC0415 - only where no home is named

    try:
        found = platformdirs.user_data_path("muniment", appauthor=False)
    except RuntimeError:  # no HOME, and no entry of the user to look it up in
        return _NOWHERE
    return found if found.is_absolute() else _NOWHERE


def refuse_no_home(home: Path) -> None:
    """Refuse to write to the home of a user who has none.

    Raises:
        CannotTellError: *home* means that there is none.

    """
    if home == _NOWHERE:
        raise CannotTellError(
            "this user has no home directory, and no trust home is named",
            rule="trust/no-home",
            place=HOME_VARIABLE,
            remedy=f"set {HOME_VARIABLE} to a directory of yours",
        )

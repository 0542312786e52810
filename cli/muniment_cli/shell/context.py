"""The ledger and the trust home that a command works on.

Rules: the ledger is ``--ledger``, else ``MUNIMENT_LEDGER``, else the nearest
``.muniment/ledger.db`` above the working directory. One that was merely found is read;
it is written to only if its root is pinned. A wrong path never makes a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from muniment.ledger import Ledger
    from muniment.trust.home import TrustHome

__all__ = ["Session", "pass_session"]


class Session:
    """The global options of one command line."""

    __slots__ = ("debug", "ledger_url", "plain")

    def __init__(self) -> None:
        self.ledger_url: str | None = None
        self.debug = False
        self.plain = False

    @property
    def home(self) -> TrustHome:
        """The trust home of this user."""
        from muniment.trust.home import TrustHome

        return TrustHome()

    def place(self) -> Path:
        """Return the path of the ledger file, whether or not it is there.

        Raises:
            CannotTellError: none is named, and none is found.

        """
        from pathlib import Path

        from muniment.errors import CannotTellError
        from muniment.places import discover, sqlite_path

        found = sqlite_path(self.ledger_url) if self.ledger_url else discover()
        if found is None:
            raise CannotTellError(
                "there is no ledger here, nor in any directory above",
                rule="ledger/none",
                place=str(Path.cwd()),
                remedy="make one with `muniment init`, or name one with --ledger",
            )
        return found

    @property
    def merely_found(self) -> bool:
        """Whether nobody named the ledger."""
        return not self.ledger_url and not os.environ.get("MUNIMENT_LEDGER")

    def open(
        self, *, write: bool = False, plugins: Iterable[str] | None = None
    ) -> Ledger:
        """Open the ledger; use it as a context manager.

        Raises:
            RefusedError: it was merely found, is not pinned, and should be written to.
            UsageError: it should be written to, under a umask that forbids that.

        """
        from muniment.errors import RefusedError
        from muniment.ledger import Ledger

        if write:
            from muniment_cli.shell.new_places import require_own_files

            require_own_files()
        place = self.place()
        ledger = Ledger.open(place, readonly=not write, plugins=plugins)
        if write and self.merely_found and not ledger.home.pins(ledger.id):
            ledger.close()
            raise RefusedError(
                "this ledger was merely found, and none of its keys is pinned",
                rule="ledger/unpinned",
                place=str(place),
                remedy="pin its root with `muniment keys trust FINGERPRINT`, "
                "or name it with --ledger",
            )
        return ledger


pass_session = click.make_pass_decorator(Session, ensure=True)

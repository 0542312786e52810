"""``muniment.open``: the ledger that the command line would use.

Rules: ``MUNIMENT_LEDGER``, else ``.muniment/ledger.db`` in the working directory or
above it, else one is made in the working directory on request. A ledger that was merely
found and is not pinned is opened read-only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment.places import DEFAULT_PLACE, LEDGER_VARIABLE, discover
from muniment.plugins import Plugins

__all__ = ["open"]


def open(  # noqa: A001 - muniment.open, as gzip.open
    path: str | Path | None = None,
    *,
    create: bool = False,
    readonly: bool = False,
    plugins: Iterable[str] | Plugins | None = None,
    actor: str = "local",
) -> Ledger:
    """Open the ledger at *path*, or the one that is found; make one on request.

    Raises:
        CannotTellError: there is none, and none should be made.

    """
    place = discover() if path is None else Path(path)
    if place is None or (create and not os.path.lexists(place)):
        if not create:
            raise CannotTellError(
                "there is no ledger here, nor in any directory above",
                rule="ledger/none",
                place=str(Path.cwd()),
                remedy="make one with `muniment init`, or name one with --ledger",
            )
        target = place or Path.cwd() / DEFAULT_PLACE
        return Ledger.create(target, plugins=plugins, actor=actor)
    merely_found = path is None and not os.environ.get(LEDGER_VARIABLE)
    with ExitStack() as unless_returned:
        ledger = Ledger.open(place, readonly=readonly, plugins=plugins, actor=actor)
        unless_returned.callback(ledger.close)
        if readonly or not merely_found or ledger.home.pins(ledger.id):
            unless_returned.pop_all()
            return ledger
    return Ledger.open(place, readonly=True, plugins=plugins, actor=actor)

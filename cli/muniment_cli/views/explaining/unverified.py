"""Why the record of a run does not verify, for views that show it all the same.

Rule: an event costs about 0.1 ms. A view of a run with more than `MOST` events says nothing
of them; `muniment runs explain` and `muniment verify` look at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["MOST", "why_unverified"]

MOST = 5000


def why_unverified(ledger: Ledger, run: str, events: int = 0) -> str:
    """Return what does not verify of *run*; empty if all does, or it has too many *events*."""
    from muniment.errors import WrongError
    from muniment.runs.resume import verified_events

    if events > MOST:
        return ""
    try:
        verified_events(ledger, run)
    except WrongError as error:
        return f"{error.place}: {error.message} [{error.rule}]"
    return ""

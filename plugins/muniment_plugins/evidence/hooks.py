"""The hook that this plugin declares for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment import hookspec

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger

__all__ = ["EvidenceHooks"]


class EvidenceHooks:
    """What plugins may say about a run of theirs in an evidence bundle."""

    @hookspec
    def evidence_view(self, ledger: Ledger, run: str) -> JsonValue:
        """Return ``bundle.json`` of *run*: a view that follows from its events, or None.

        The first plugin that answers writes it. It says the same whenever it is asked,
        and reads nothing but the ledger; nothing verifies it except the signature of
        the event that closes the bundle.
        """

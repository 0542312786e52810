"""The hooks that this plugin declares for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment import hookspec

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger

__all__ = ["EvidenceHooks"]


class EvidenceHooks:
    """What plugins may say about a run of theirs, in a bundle and in a report."""

    @hookspec
    def evidence_view(self, ledger: Ledger, run: str) -> JsonValue:
        """Return ``bundle.json`` of *run*: a view that follows from its events, or None.

        The first plugin that answers writes it. It says the same whenever it is asked,
        and reads nothing but the ledger; nothing verifies it except the signature of
        the event that closes the bundle.
        """

    @hookspec
    def report_sections(self, ledger: Ledger, run: str, size: int) -> JsonValue:
        """Return the sections that this plugin adds to the report about *run*, or None.

        A section is ``{"title": …, "blocks": […]}``; a block is one of ``title``,
        ``say``, ``facts``, ``table``, ``dots``, ``graph``. Whatever the record says is cited,
        never copied: ``{"event": 45, "path": "/metrics/total"}``. Words with digits, or
        in other than Latin letters, are refused: nobody could compare them. Between two
        citations in one line are words, or a comma. Nothing from event
        *size* on is used, so that the page stays the same while the ledger grows.

        *ledger* may be a bundle, which answers ``events``, ``event``, ``get_blob``, ``value``
        and ``root``. What it does not hold is a `CannotTellError` of the rule
        ``bundle/absent``: a section says so, and leaves nothing out in silence.
        """

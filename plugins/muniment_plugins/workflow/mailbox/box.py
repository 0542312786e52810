"""The mailbox of a run, where it runs: what waits is taken once, by one path.

    mail.requested   {"point": "step"}                         in the scope that takes it
    mail.completed   [{"name": "go", "payload": {…}, …}]        about: {"mail": ["9f86…"]}

Rules:

- Taking mail is an effect: its outcome names the letters and says what is in them. So a
  replay, a resume and a fork are told the same at the same place, and a letter that was
  taken is not taken again, whatever is killed in between.
- Paths that run at once take letters one after the other.
- A run that was taken over takes none: its outcome is refused.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from muniment.encoding.canonical import JsonValue
from muniment.runs.run import Run
from muniment_plugins.workflow.mailbox.letters import MAIL, Mail, mail_of
from muniment_plugins.workflow.mailbox.pending import (
    ends_of,
    has_mail,
    line_of,
    pending_events,
)

if TYPE_CHECKING:
    from muniment.hookspecs import ReadableLedger

__all__ = ["RunMailbox", "Wanted", "mail_fault"]

Wanted: TypeAlias = Callable[[Mapping[str, object]], bool]
"""Tells by the data of a letter whether it is to be taken."""
_EVERY = 0.1
"""How many seconds pass between two looks at the ledger while a handler waits."""


_ROW = {
    **dict.fromkeys(("hash", "run", "kind", "name", "sender", "sent_at"), str),
    "seq": int,
}


def mail_fault(_: object, value: object) -> str | None:
    """Say what is wrong with *value* as the letters that a run took."""
    rows = cast("list[object]", value if isinstance(value, list) else [None])
    for one in rows:
        said = cast("Mapping[str, object]", one if isinstance(one, Mapping) else {})
        odd = said.keys() ^ {*_ROW, "payload"}
        if odd or any(type(said[name]) is not kind for name, kind in _ROW.items()):
            return f"it is a list of letters, each with {', '.join(_ROW)} and payload"
    return None


class RunMailbox:
    """What waits for one run, in the process that runs it."""

    def __init__(self, *, is_async: bool = False) -> None:
        self._is_async = is_async
        self._lock = threading.Lock()
        self._claimed: set[str] = set()
        self._line: tuple[str, ...] | None = None
        self._answered: set[str] = set()

    def waits(self, lane: Run, wanted: Wanted) -> bool:
        """Tell whether a letter that is *wanted* waits for the run of *lane* now."""
        ledger = lane.reader
        if self._line is None:
            self._line = line_of(ledger, lane.id)
        if not has_mail(ledger, self._line):
            return False
        return any(
            wanted(one.data)
            for one in pending_events(ledger, lane.id)
            if one.hash not in self._claimed
        )

    def answers(self, letter: str) -> bool:
        """Tell whether nothing of this run has answered *letter* yet; now somebody does."""
        with self._lock:
            is_first = letter not in self._answered
            self._answered.add(letter)
        return is_first

    async def take(
        self,
        lane: Run,
        request: Mapping[str, object],
        wanted: Wanted,
        *,
        most: int | None = None,
        wait_s: float = 0.0,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> list[Mail]:
        """Return the letters that are *wanted*, which are then taken.

        Args:
            lane: in whose scope they are taken.
            request: what the record has as the request.
            wanted: which.
            most: at most so many; None for all.
            wait_s: how many seconds to wait for the first one.
            goes_on: tells whether waiting still makes sense.

        """
        end = time.monotonic() + wait_s

        def look() -> list[JsonValue] | None:
            """Return what there is; None if it is worth looking again."""
            rows = self._claim(lane.reader, lane.id, wanted, most)
            ended = ends_of(lane.reader, lane.id) is not None or not goes_on()
            return rows if rows or ended or time.monotonic() >= end else None

        def perform(_: object) -> object:
            while (rows := look()) is None:
                time.sleep(_EVERY)
            return rows

        async def aperform() -> object:
            while (rows := look()) is None:  # noqa: ASYNC110 - others append, elsewhere
                await asyncio.sleep(_EVERY)
            return rows

        if self._is_async:
            said = await lane.aeffect(MAIL, request, lambda _: aperform())
        else:
            said = lane.effect(MAIL, request, perform)
        return [Mail.from_row(one) for one in cast("list[dict[str, JsonValue]]", said)]

    def _claim(
        self, ledger: ReadableLedger, run: str, wanted: Wanted, most: int | None
    ) -> list[JsonValue]:
        with self._lock:
            found = [
                one
                for one in pending_events(ledger, run)
                if one.hash not in self._claimed and wanted(one.data)
            ][:most]
            self._claimed |= {one.hash for one in found}
        return [mail_of(ledger, one).row() for one in found]

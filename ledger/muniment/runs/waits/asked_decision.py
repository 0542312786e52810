"""A question that a run asked people, before it waits for what they decide.

    questions = [run.scope(name).ask(page) for name, page in pages.items()]
    decided = [one.decide() for one in questions]       people find all of them at once

Rules:

- Asking is a fact. It is durable with the next event that is, at the latest where the run
  waits for an answer.
- The first question that is not decided yet pauses the run, or the lane that waits, if
  others are at once (`Run.at_once`). A resume looks again.
- A run does not complete before what it asked is decided: it waits at its end for what
  the program did not wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from muniment.runs.waits.decisions import decide

if TYPE_CHECKING:
    from muniment.formats.decisions import Decision
    from muniment.runs.recording import Handle, Recording

__all__ = ["AskedDecision"]


class AskedDecision:
    """What a run asked people in a lane; `Run.ask` makes it."""

    __slots__ = ("_decision", "_handle", "_recording", "_require", "_scope")

    def __init__(
        self,
        recording: Recording,
        scope: str,
        handle: Handle,
        require: Callable[[], None],
    ) -> None:
        """Keep what was asked in *scope*; *require* refuses where nobody may wait."""
        self._recording, self._scope, self._handle = recording, scope, handle
        self._require = require
        self._decision: Decision | None = None
        recording.asked.append(self.decide)

    def decide(self) -> Decision:
        """Return what people decided, as `Run.decide` does.

        Raises:
            RunPaused: they have not decided yet; it is not an ``Exception``.
            UsageError: the code runs inside a ``perform``.

        """
        self._require()
        with self._recording.lock:
            if self._decision is None:
                self._decision = decide(self._recording, self._scope, self._handle)
            return self._decision

"""Who writes a session of a run now: one at a time, in threads, in tasks, and one within another.

Rules:

- A loop has the session that it is given until it ends (`SessionUse.lend`). Whoever else
  would write it meanwhile is refused, before anything of it is written.
- A compaction has it while models and functions are asked.
- What was let go of is written by nobody, even if somebody kept it.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from muniment.errors import RefusedError

__all__ = ["SessionUse", "in_use"]


@dataclass(slots=True)
class SessionUse:
    """Who has a session: shared by all that stand for it in a run."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while something is written, so that two threads cannot give one id."""
    by: object = None
    """Who has it lent; None if nobody has."""
    is_compacted: bool = False
    """Whether it is compacted right now."""
    is_left: bool = False
    """Whether it was let go of."""

    def require(self, who: object, session: str) -> None:
        """Refuse *who* to write the *session* now.

        Raises:
            RefusedError: somebody else has it, or it was let go of.

        """
        with self.lock:
            if self.by is not None and self.by is not who:
                raise in_use("a loop that is under way has it", session)
            if self.is_compacted:
                raise in_use("it is being compacted", session)
            if self.is_left and self.by is not who:
                raise RefusedError(
                    "it was let go of",
                    rule="session/left",
                    place=session,
                    remedy="join the session again, or write it before the end of the with",
                )

    def lend(self, who: object, to: object, session: str) -> None:
        """Let *to* have the *session* of *who*.

        Raises:
            RefusedError: somebody has it.

        """
        with self.lock:
            self.require(who, session)
            self.by = to

    def take_back(self) -> None:
        """Let nobody in particular have it."""
        with self.lock:
            self.by = None

    @contextmanager
    def compacting(self, who: object, session: str) -> Generator[None]:
        """Let nobody write the *session* but the compaction of it."""
        with self.lock:
            self.require(who, session)
            self.is_compacted = True
        try:
            yield
        finally:
            with self.lock:
                self.is_compacted = False


def in_use(why: str, session: str) -> RefusedError:
    """Return the error that says *why* the *session* is not written now."""
    return RefusedError(
        why,
        rule="session/in-use",
        place=session,
        remedy="let it end first; what goes on at once writes a branch: session.branch(run, name)",
    )

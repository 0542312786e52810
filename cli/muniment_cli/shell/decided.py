"""The exit code of a command that has done its work, and now prints the answer.

    DECIDED.code = 1       it failed: so it stays, whether or not anybody gets the answer

Rule: an answer that cannot be printed is an error, and keeps a code other than 0 that was
decided before.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DECIDED"]


@dataclass(slots=True)
class _Decided:
    code: int = 0


DECIDED = _Decided()
"""Of the command that this process runs; 0 until it decided."""

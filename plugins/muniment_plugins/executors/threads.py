"""Parts of a run in threads of this process, which call their functions themselves."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar

from muniment.runs.executors import Reach, Send

__all__ = ["Threads"]


@dataclass(frozen=True, slots=True)
class Threads:
    """Some parts at once, in as many threads."""

    name: ClassVar[str] = "threads"
    reach: ClassVar[Reach] = "here"
    workers: int | None = None

    @property
    def lanes(self) -> int:
        """As many as workers; without a number, one for each processor and 4 more."""
        return self.workers or (os.cpu_count() or 1) + 4

    def require(self) -> None:
        """Need nothing."""

    def host(self, serve: str) -> AbstractContextManager[Send | None]:
        """Call functions here."""
        del serve
        return nullcontext()

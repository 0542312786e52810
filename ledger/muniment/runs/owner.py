"""The owner of a run: the process that began it, until it has ended.

Rules:

- A fork copies what a run has in memory: its counters, and the facts that wait to be
  written. Two processes that continued from there would count differently, and write or
  lose the same facts. So in a child every operation of an inherited run refuses, takes
  no lock and writes nothing, even while the child exits.
- The ledger itself differs: a child that inherited it connects anew
  (`muniment.storage.transactions`), may append, and may begin runs of its own.
"""

from __future__ import annotations

import os
from typing import NoReturn

from muniment.errors import RefusedError, UsageError

__all__ = ["RunOwner"]

_REMEDY = "hand work back to the process that began the run, and record it there"


class RunOwner:
    """The process of the run *run*."""

    __slots__ = ("_pid", "run")

    def __init__(self, run: str) -> None:
        """Make the calling process the owner."""
        self.run = run
        self._pid = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is the process that began the run."""
        return os.getpid() == self._pid

    def require(self) -> None:
        """Refuse in any other process.

        Raises:
            RefusedError: the run was inherited by a fork.

        """
        if os.getpid() != self._pid:
            raise RefusedError(
                f"a run belongs to its process ({self._pid}), and this is a child of it",
                rule="run/process",
                place=f"run {self.run}",
                remedy=_REMEDY,
            )

    def refuse_travel(self) -> NoReturn:
        """Refuse to be sent to another process.

        Raises:
            RefusedError: always.

        """
        raise RefusedError(
            "a run belongs to its process, and is not handed to another",
            rule="run/process",
            place=f"run {self.run}",
            remedy=_REMEDY,
        )

    def ended(self) -> UsageError:
        """Return the error for an operation after the run's end."""
        return UsageError(
            "the run has ended",
            rule="run/ended",
            place=f"run {self.run}",
            remedy="wait for threads and tasks before the program returns",
        )

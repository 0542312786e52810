"""A loop without readers and writers, as that of Windows, and muniment on it.

    with asyncio.Runner(loop_factory=WithoutReaders) as runner: …
    python without_readers.py record -- python agent.py

Rules: what reads and writes sockets are the calls of the loop, such as ``sock_recv``.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, NoReturn

__all__ = ["WithoutReaders"]


class WithoutReaders(asyncio.SelectorEventLoop):
    """The loop of this system, which refuses as the loop of Windows does."""

    def add_reader(self, *_: Any) -> NoReturn:  # type: ignore[override]
        """Refuse."""
        raise NotImplementedError

    remove_reader = add_writer = remove_writer = add_reader  # type: ignore[assignment]

    # Its own calls end by what it refuses others.
    def _sock_read_done(self, fd: int, _: Any, handle: Any = None) -> None:
        if handle is None or not handle.cancelled():
            self._remove_reader(fd)  # type: ignore[attr-defined]

    def _sock_write_done(self, fd: int, _: Any, handle: Any = None) -> None:
        if handle is None or not handle.cancelled():
            self._remove_writer(fd)  # type: ignore[attr-defined]


def main() -> int:
    """Run muniment; every loop of this process is such a one."""
    from muniment_cli import main as muniment  # noqa: PLC0415 - for this command alone

    for name, own in vars(WithoutReaders).items():
        if not name.startswith("__"):
            setattr(asyncio.SelectorEventLoop, name, own)
    return muniment()


if __name__ == "__main__":
    sys.exit(main())

"""Which thread starts which, reported while it starts, before it runs.

    follow(begun)       begun(Thread(…)), in the thread that starts it; None for a start
                        that names no `threading.Thread`

Rules:

- From 3.12 on, Python reports starts as audit events. Before, the two functions that
  start threads are replaced by ones that raise the same event.
- Neither can be undone: a hook stays until the process ends, and must be idle when it
  has nothing to do. Threads that other languages start are not reported.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable

__all__ = ["STARTS", "begun_by", "follow", "tell_starts"]

STARTS = frozenset({"_thread.start_new_thread", "_thread.start_joinable_thread"})
"""The audit events of a start."""
_TELLING = threading.Lock()


def tell_starts() -> None:
    """Make starts raise audit events on Pythons that raise none."""
    if sys.version_info >= (3, 12):
        return
    with _TELLING:
        start = _thread.start_new_thread
        if getattr(start, "tells", False):
            return

        def telling(
            function: Callable[..., object], args: tuple[object, ...], *more: object
        ) -> int:
            sys.audit("_thread.start_new_thread", function, args, *more or (None,))
            return start(function, args, *more)

        setattr(telling, "tells", True)  # noqa: B010 - a function has no such name
        _thread.start_new_thread = telling
        setattr(threading, "_start_new_thread", telling)  # noqa: B010 - it is theirs


def begun_by(arguments: tuple[object, ...]) -> threading.Thread | None:
    """Return the thread that the audit event of a start names, if it names one."""
    found = getattr(arguments[0], "__self__", None) if arguments else None
    return found if isinstance(found, threading.Thread) else None


def follow(begun: Callable[[threading.Thread | None], None]) -> None:
    """Call *begun* with each thread that starts from now on."""
    tell_starts()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in STARTS:
            begun(begun_by(arguments))

    sys.addaudithook(hook)

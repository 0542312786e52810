"""Keeping a Ctrl-C that comes where Python cannot raise it.

An exception in a finalizer or in a callback of a weak reference is printed and dropped
(``sys.unraisablehook``); the import system has such callbacks, so an interrupt while a
command loads its code would show a traceback and end nothing.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["keep_interrupts"]

_LATER = 0.005
"""Seconds until the code that dropped it has returned."""


def keep_interrupts() -> None:
    """Raise a dropped interrupt again, in the main thread."""
    usual = sys.unraisablehook

    def again(unraisable: UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            usual(unraisable)
            return
        timer = threading.Timer(_LATER, _interrupt)
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again


def _interrupt() -> None:
    """Interrupt the main thread, even while it waits for the system."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()

"""The worker: a separate interpreter that runs a program, or forks children that do.

    python -s -S -P worker.py KERNEL alone 5     one request on descriptor 0, answers on 5
    python -s -S -P worker.py KERNEL warm        forks a child per message on descriptor 0

Rules, in this order, for the process that runs a program:

1. Load the allowed packages that the request names, in the worker or in the process.
2. Read the request, seed every generator, set the limits, raise the isolation layers,
   and state both in the first frame.
3. Wait until the parent has checked them and says go; close the request's pipe.
4. Run the program with guarded names; write metrics or error in the second frame.

A program's faults end in a frame or in the death of this process, never in the parent.
The worker is started as a file, by its own interpreter: it imports nothing of the
caller's ``__main__``. This file is compiled at each start, so it only registers the
packages by their place, without running their ``__init__``.
"""

from __future__ import annotations

import os
import sys


def _know(name: str, place: str) -> None:
    package = type(sys)(name)
    package.__path__ = [place]
    sys.modules[name] = package


def _descriptor(number: int) -> int:
    """Return the inherited descriptor; on Windows, *number* is an inherited handle."""
    if sys.platform != "win32":
        return number
    windows = vars(__import__("msvcrt"))
    descriptor: int = windows["open_osfhandle"](number, vars(os)["O_BINARY"])
    return descriptor


def _heed_children() -> None:
    """Keep ended children until they are reaped, whatever the host's setting."""
    if sys.platform != "win32":
        signals = __import__("_signal")
        signals.signal(signals.SIGCHLD, signals.SIG_DFL)


if __name__ == "__main__":
    _heed_children()
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow
    here = os.path.dirname(folder)  # noqa: PTH120 - pathlib is slow
    _know("muniment", sys.argv[1])
    _know("muniment_plugins", os.path.dirname(here))  # noqa: PTH120 - pathlib is slow
    _know("muniment_plugins.capsule", here)
    if sys.argv[2] == "warm":
        from muniment_plugins.capsule.child.zygote import serve_forks

        serve_forks()
    from muniment_plugins.capsule.child.program import serve_alone

    serve_alone(_descriptor(int(sys.argv[3])))

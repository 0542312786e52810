"""The worker: an interpreter of its own that runs a program, or forks those that do.

    python -s -S -P worker.py KERNEL alone 5     one request on descriptor 0, answers on 5
    python -s -S -P worker.py KERNEL warm        forks a child per message on descriptor 0

Rules, in this order, for the process that runs a program:

1. The allowed packages that it names are loaded, by its worker or by itself.
2. Read the request, seed every generator, set the limits, raise the walls, and state
   both in the first frame.
3. Wait until the parent has checked them and says go; close the request's pipe.
4. Run the program with guarded names; write metrics or error in the second frame.

What a program can do wrong ends in a frame or in the death of this process, never in
the parent. Started as a file, by its own interpreter: nothing of the caller's
``__main__`` is imported here. This file is compiled at each start, so it only makes
the packages known by their place, without running their ``__init__``.
"""

from __future__ import annotations

import os
import sys


def _know(name: str, place: str) -> None:
    package = type(sys)(name)
    package.__path__ = [place]
    sys.modules[name] = package


def _descriptor(number: int) -> int:
    """Return the descriptor that was inherited; on Windows its handle was."""
    if sys.platform != "win32":
        return number
    windows = vars(__import__("msvcrt"))
    descriptor: int = windows["open_osfhandle"](number, vars(os)["O_BINARY"])
    return descriptor


def _heed_children() -> None:
    """Have ended children kept until they are asked for; a host may have it otherwise."""
    if sys.platform != "win32":
        signals = __import__("_signal")
        signals.signal(signals.SIGCHLD, signals.SIG_DFL)


if __name__ == "__main__":
    _heed_children()
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow
    _know("muniment", sys.argv[1])
    _know("muniment_plugins", os.path.dirname(here))  # noqa: PTH120 - pathlib is slow
    _know("muniment_plugins.capsule", here)
    if sys.argv[2] == "warm":
        from muniment_plugins.capsule.zygote import serve_forks

        serve_forks()
    from muniment_plugins.capsule.program import serve_alone

    serve_alone(_descriptor(int(sys.argv[3])))

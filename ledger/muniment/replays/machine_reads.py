"""Questions of libraries about the machine itself, and how a replay answers them.

    platform.processor()          starts `uname -p`     asked before the replay begins
    tempfile.gettempdir()         tries where it can write              the same
    platform.architecture()       starts `file -b`      answered: there is no such command
    ctypes.util.find_library(…)   starts `ldconfig -p`  allowed, if there are no layers
    urllib3                       binds a socket of its own, to see whether there is IPv6

Rules:

- None of it leads out or changes anything, so it is not a finding.
- Behind the layers of `muniment replay` no process is started, not even for this: there
  ``find_library`` finds nothing.
- The asking code is identified by its file and function in the standard library, or in
  the package. Each handles the error that it gets, as on a machine without the command.
- Files that describe the machine are simply read; `docs/how-to/replay.md` lists them.
"""

from __future__ import annotations

import errno
import inspect
import sys
from contextlib import suppress

__all__ = ["ask_machine", "is_answered"]

_STARTING = ("platform", "ctypes.util", "uuid")
_ASKING = {
    "subprocess.Popen": _STARTING,
    "os.posix_spawn": _STARTING,  # subprocess uses it from Python 3.13 on
    "socket.bind": ("urllib3.util.connection",),
}
"""The audit event → the modules that cause it by asking about the machine."""

_ON_THE_WAY = frozenset({"subprocess", "os", "muniment.replays.guards", __name__})


def ask_machine() -> None:
    """Ask once the questions that need a process or a file; the answers are cached."""
    import platform  # noqa: PLC0415 - only where a program is going to run
    import tempfile  # noqa: PLC0415 - the same

    platform.processor()
    with suppress(FileNotFoundError):  # then the program gets it, too
        tempfile.gettempdir()


def is_answered(event: str, arguments: tuple[object, ...]) -> bool:
    """Tell whether *event* may happen, or answer like a machine without the command.

    Raises:
        FileNotFoundError: the calling code only asks about the machine.

    """
    names = _ASKING.get(event)
    if names is None:
        return False
    frame = inspect.currentframe()  # only the asking code tells
    while frame is not None and frame.f_globals.get("__name__") in _ON_THE_WAY:
        frame = frame.f_back
    if frame is None:
        return False
    name = str(frame.f_globals.get("__name__"))
    module = sys.modules.get(name)
    if name in names and frame.f_code.co_filename == getattr(module, "__file__", None):
        if arguments[:1] == ("/sbin/ldconfig",):
            return True
        raise FileNotFoundError(errno.ENOENT, "a replay starts no command", event)
    return False

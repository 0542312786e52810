"""A process that is ended behind the command line's back does not look successful.

    with no_sudden_end(report):     os._exit(0) in it is reported, and the code is not 0

Rules:

- Only a command that came to its end gives exit code 0: a program or a plugin that
  calls `os._exit(0)` ends the process with 1 in the middle of a run, else with 3. Any
  other code is kept. `posix._exit` is the same function; what C code calls itself
  (`ctypes`) is not noticed, and leaves its run open.
- A program that replaces the process (`os.exec…`) would leave its run without an end:
  in a run that is refused.
- Forked children may end as they like.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.errors import MunimentError

__all__ = ["no_sudden_end"]

_EXECS = ("execv", "execve")
"""The functions that all of `os.exec…` call."""
_CODE = 0xFF
_FAILED, _UNKNOWN = 1, 3


@contextmanager
def no_sudden_end(report: Callable[[Exception], int]) -> Generator[None]:
    """Let *report* report that something in the body ends this process."""
    mine = os.getpid()
    usual: dict[str, Any] = {name: getattr(os, name) for name in ("_exit", *_EXECS)}

    def leave(status: int) -> None:
        code = status
        try:
            if os.getpid() == mine:
                code = status & _CODE or _UNKNOWN
                code = report(_left(status))
        finally:
            usual["_exit"](code)

    def refusing(name: str) -> Callable[..., object]:
        def replace(*arguments: Any, **named: Any) -> object:
            if os.getpid() == mine and (run := _run()):
                raise _refused(name, run)
            return usual[name](*arguments, **named)

        return replace

    system = sys.modules[os.name]  # `posix`, where `os` has them from
    try:
        for name in usual:
            told = leave if name == "_exit" else refusing(name)
            setattr(os, name, told)
            setattr(system, name, told)
        yield
    finally:
        for name, function in usual.items():
            setattr(os, name, function)
            setattr(system, name, function)


def _left(status: int) -> MunimentError:
    from muniment.errors import CannotTellError

    run = _run()
    what = f"os._exit({status}) ended the process"
    if run:
        error = CannotTellError(
            f"{what} of the run, which has no end",
            rule="cli/left",
            place=f"run {run}",
            remedy=f"`muniment runs explain {run}` says how to continue it",
        )
    else:
        error = CannotTellError(
            f"{what} before the command was done",
            rule="cli/left",
            remedy="`muniment runs` lists what was left open",
        )
    code = status & _CODE or (_FAILED if run else _UNKNOWN)
    vars(error).update(exit_code=code)  # only of this error
    return error


def _refused(name: str, run: str) -> MunimentError:
    from muniment.errors import RefusedError

    return RefusedError(
        f"os.{name} would replace the process that the run belongs to",
        rule="run/process",
        place=f"run {run}",
        remedy="start it as a process of its own, with `subprocess`",
    )


def _run() -> str:
    """Return the id of the run that the calling code is in, "" if none."""
    from muniment.errors import MunimentError
    from muniment.runs.run import current_run

    try:
        return current_run().id
    except MunimentError:
        return ""

"""The command line: ``muniment COMMAND …``.

Rules:

- This package is imported by every command and imports nothing itself; each command's
  module is loaded when that command is called, and not before.
- Ctrl-C shows no traceback: while code loads it ends the process at once, later the
  command line says *interrupted*, and after that nothing more is printed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (``sys.argv`` without *arguments*); return the exit code."""
    if arguments is None:
        return _as_process()
    from muniment_cli.shell.conduct import conduct

    return conduct(arguments)


def _as_process() -> int:
    """Run the command line of this process, which ends with it."""
    try:
        import signal

        usual = signal.getsignal(signal.SIGINT)
        # and not ignored, as in a background job
        if usual is signal.default_int_handler:
            signal.signal(signal.SIGINT, _end_at_once)
        from muniment_cli.shell.conduct import conduct
        from muniment_cli.shell.interrupts import keep_interrupts

        keep_interrupts()
        signal.signal(signal.SIGINT, usual)
        code = conduct()
        if usual is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _end_at_once(*_: object) -> None:
    """End a process that has nothing open yet."""
    import os

    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)

"""Runs one command line; whatever happens becomes one line and an exit code.

    0 holds, done      1 a check failed       2 usage
    3 could not check  4 refused by a policy  130 interrupted  141 nobody reads on

Rules:

- An error is one line on stderr: ``error: place: message [rule]; remedy``. ``--debug``
  adds the traceback.
- Nothing but the answer goes to stdout.
- What nobody expected is called what it is: a bug in muniment, exit code 3.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

import click

from muniment_cli.group import command_line

__all__ = ["conduct"]

INTERRUPTED = 130
BROKEN_PIPE = 141
COMPLETION_VARIABLE = "_MUNIMENT_COMPLETE"


def conduct(arguments: Sequence[str] | None = None) -> int:
    """Run the command line *arguments* and return its exit code."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in (args[: args.index("--")] if "--" in args else args)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = _invoke(args)
        sys.stdout.flush()
    except BrokenPipeError:
        _close_quietly()
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - each becomes a line and a code
        code = _report(error, debug=debug)
    except KeyboardInterrupt:
        _say("interrupted")
        code = INTERRUPTED
    return code


def _invoke(args: list[str]) -> int:
    group = command_line()
    instruction = os.environ.get(COMPLETION_VARIABLE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, "muniment", COMPLETION_VARIABLE, instruction)
    colour = False if os.environ.get("NO_COLOR") else None
    try:
        with group.make_context("muniment", args, color=colour) as ctx:
            result: object = group.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    return result if type(result) is int else 0


def _report(error: Exception, *, debug: bool) -> int:
    from muniment.errors import MunimentError

    if debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, MunimentError):
        _say(str(error))
        return error.exit_code
    if isinstance(error, click.exceptions.Abort):
        _say("interrupted")
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        return _report_usage(error)
    _say(
        f"{type(error).__name__}: {error} [cli/bug]; "
        "this is a bug in muniment; --debug shows more"
    )
    return MunimentError.exit_code


def _report_usage(error: click.ClickException) -> int:
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        if type(error).__name__ == "NoArgsIsHelpError":
            click.echo(error.ctx.get_help())
            return 0
        hint = f"; see `{error.ctx.command_path} --help`"
    _say(f"{error.format_message().rstrip('.')} [cli/usage]{hint}")
    return 2 if isinstance(error, click.UsageError) else 3


def _say(message: str) -> None:
    from muniment_cli.output import complain

    try:
        complain("error", message)
    except BrokenPipeError:
        _close_quietly()


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    """Print one line; the place in the code helps nobody at a shell."""
    del category, filename, lineno, file, line
    from muniment_cli.output import complain

    complain("warning", str(message))


def _close_quietly() -> None:
    """Let the interpreter flush what nobody reads into nothing."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):
            os.dup2(nothing, stream.fileno())

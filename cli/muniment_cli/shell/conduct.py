"""Running one command line; any error becomes one line and an exit code.

    0 holds, done      1 a check failed       2 usage
    3 could not check  4 refused by a policy  5 waiting
    130 interrupted    141 the reader is gone    128+n ended by the signal n

Rules:

- An error is one line on stderr: ``error: place: message [rule]; remedy``; with
  ``--json`` or ``--jsonl`` it is one JSON document there. ``--debug`` adds the traceback.
- Only the answer goes to stdout.
- An unexpected exception is reported as what it is: a bug in muniment, or in the plugin
  whose command it is; exit code 3. So is code that ends the process in the midst of a
  command: an exit code of 0 would be the word of that code.
- An answer that cannot be printed, as on a full disk, is an error like any other; so is
  an answer lost because stdout was closed beforehand.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.shell.decided import DECIDED
from muniment_cli.shell.group import command_line
from muniment_cli.shell.standard_streams import (
    escape_what_has_no_code,
    open_what_is_closed,
)
from muniment_cli.shell.sudden_end import no_sudden_end
from muniment_cli.shell.table import Entry, plugin_entries
from muniment_cli.terminal.advice import advised, ledger_named

if TYPE_CHECKING:
    from muniment.errors import MunimentError

__all__ = ["conduct"]

INTERRUPTED = 130
BROKEN_PIPE = 141
COMPLETION_VARIABLE = "_MUNIMENT_COMPLETE"


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The system's errors for a place that is full."""


def conduct(arguments: Sequence[str] | None = None) -> int:
    """Run the command line *arguments* and return its exit code."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    own = args[: args.index("--")] if "--" in args else list(args)
    is_lost = open_what_is_closed()
    escape_what_has_no_code()
    code = DECIDED.code = 0
    try:
        with warnings.catch_warnings(), no_sudden_end(lambda one: _report(one, own)):
            warnings.showwarning = _show_warning
            code = _invoke(args)
        sys.stdout.flush()
        if is_lost():
            reported = _report(_lost(), own)
            code = code or reported
    except BrokenPipeError:
        _close_quietly()
        return BROKEN_PIPE
    except OSError as error:
        reported = _report(error, own)
        code = code or DECIDED.code or reported
        _close_quietly()
    except Exception as error:  # noqa: BLE001 - each becomes a line and a code
        code = _report(error, own)
    except KeyboardInterrupt as end:
        code = getattr(end, "code", INTERRUPTED)
        _say("interrupted" if code == INTERRUPTED else _worded(end, end), own)
    except BaseException as end:  # noqa: BLE001 - code that was called ended the process
        code = _report(_ended(end), own)
    _drop_unsaid()
    return code


def _ended(end: BaseException) -> MunimentError:
    from muniment.errors import CannotTellError

    text = str(end)
    said = f"{type(end).__name__}: {_worded(end, text)}" if text else type(end).__name__
    if isinstance(end, SystemExit):
        said = f"it ended the process with {_worded(end, end.code)}"
    error = CannotTellError(
        f"code that was called here gave no answer: {said}",
        rule="cli/ended",
        remedy="let it raise what is wrong, or return; --debug shows the traceback",
    )
    return error.with_traceback(end.__traceback__)


def _worded(end: BaseException, said: object) -> str:
    """Return what is *said* of an error, unless it came out of a private lane."""
    from muniment.runs.privacy.private_errors import said_of

    return said_of(end, said)


def _drop_unsaid() -> None:
    """Keep the interpreter from ending with a code of its own over a closed terminal."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _close_quietly()


def _lost() -> MunimentError:
    from muniment.errors import CannotTellError

    return CannotTellError(
        "it is closed, and the answer was lost",
        rule="cli/unwritable",
        place="stdout",
        remedy="redirect it to a file, or to /dev/null",
    )


def _invoke(args: list[str]) -> int:
    group = command_line()
    instruction = os.environ.get(COMPLETION_VARIABLE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, "muniment", COMPLETION_VARIABLE, instruction)
    colour = False if os.environ.get("NO_COLOR") else None
    try:
        with group.make_context("muniment", args, color=colour) as ctx, _blaming(ctx):
            result: object = group.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    return result if type(result) is int else 0


@contextmanager
def _blaming(ctx: click.Context) -> Generator[None]:
    """Name the plugin whose command raises what else would be a bug in muniment."""
    try:
        yield
    except (click.exceptions.Exit, click.exceptions.Abort, BrokenPipeError):
        raise
    except Exception as error:
        named = ctx.invoked_subcommand
        entry = next((one for one in plugin_entries() if one.name == named), None)
        if entry is None or _as_ours(error).rule != "cli/bug":
            raise
        raise _of_plugin(entry, error) from error


def _of_plugin(entry: Entry, error: Exception) -> MunimentError:
    from muniment.errors import CannotTellError

    plugin = f"the plugin {entry.origin}"
    remedy = f"this is a bug in {plugin}, not in muniment; --debug shows more"
    if isinstance(error, ModuleNotFoundError):
        remedy = f"install {error.name}, which {plugin} needs; --debug shows more"
    return CannotTellError(
        f"{type(error).__name__}: {_worded(error, error)}",
        rule="plugin/command",
        place=f"command {entry.name} {entry.help}",
        remedy=remedy,
    )


def _report(error: Exception, own: Sequence[str]) -> int:
    """Report *error* for the command line with muniment's *own* words."""
    if "--debug" in own:
        import traceback

        from muniment_cli.terminal.output import clean

        click.echo(clean("".join(traceback.format_exception(error))), err=True)
    if type(error).__name__ == "NoArgsIsHelpError":
        context = cast("click.UsageError", error).ctx
        click.echo("" if context is None else context.get_help())
        return 0
    if isinstance(error, click.exceptions.Abort):
        _say("interrupted", own)
        return INTERRUPTED
    said = _as_ours(error)
    if {"--json", "--jsonl"} & {*own}:
        names = ("message", "rule", "place", "remedy", "exit_code")
        document = {"error": {name: getattr(said, name) for name in names}}
        document["error"]["remedy"] = advised(said.remedy, ledger_named(own))
        with suppress(OSError):
            click.echo(json.dumps(document), err=True)
    else:
        _say(advised(str(said), ledger_named(own)), own)
    return said.exit_code


def _as_ours(error: Exception) -> MunimentError:
    """Return an error in our form: those of click, and our bugs."""
    from muniment.errors import CannotTellError, MunimentError, UsageError

    if isinstance(error, MunimentError):
        return error
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        text = error.format_message().rstrip(".")
        more = "" if context is None else f"see `{context.command_path} --help`"
        if isinstance(error, click.UsageError):
            return UsageError(text, rule="cli/usage", remedy=more)
        return CannotTellError(text, rule="cli/usage", remedy=more)
    if isinstance(error, OSError) and (known := _of_the_system(error)):
        return known
    return CannotTellError(
        f"{type(error).__name__}: {_worded(error, error)}",
        rule="cli/bug",
        remedy="this is a bug in muniment; --debug shows more",
    )


def _of_the_system(error: OSError) -> MunimentError | None:
    """Return an error of the system in our form, if it is not our bug."""
    from muniment.errors import CannotTellError

    if error.errno in _FULL:
        return CannotTellError(
            f"it could not be written ({os.strerror(error.errno or 0)})",
            rule="cli/unwritable",
            place=error.filename or "the answer",
            remedy="make room, or write it elsewhere",
        )
    if error.errno == errno.ENAMETOOLONG:
        return CannotTellError(
            "the system takes no name that long",
            rule="cli/name",
            place=f"{error.filename!s:.60}…",
            remedy="give a shorter path",
        )
    if not _is_here():
        return CannotTellError(
            "the working directory was removed",
            rule="cli/directory",
            remedy="go to another one",
        )
    return None


def _is_here() -> bool:
    """Tell whether the working directory still exists."""
    from pathlib import Path

    with suppress(OSError):
        return bool(Path.cwd())
    return False


def _say(message: str, own: Sequence[str]) -> None:
    from muniment_cli.terminal.output import complain

    try:
        complain("error", message, plain="--no-color" in own)
    except OSError:
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
    from muniment_cli.terminal.output import complain

    complain("warning", str(message))


def _close_quietly() -> None:
    """Let the interpreter flush unread output into nothing."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(nothing, stream.fileno())

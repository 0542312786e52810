"""A recorded program, as the program of a run: started, answered, and awaited.

    ledger.aexecute(RecordedProgram(command), params=described(command))
    replay(ledger, run, RecordedProgram(command))

Rules:

- The program has our stdin, stdout and stderr, the descriptors that we were started with,
  and the environment without the ledger's key. Exit code 0 completes the run, any other
  fails it; a signal from outside (Ctrl-C, kill) interrupts it, so that it can be resumed.
- The program gets the signals of the process group, as from a terminal, and decides what
  they mean; a signal to this process alone is passed on.
- In a replay the program is kept from the network, not from files and processes, and
  the report says so.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muniment.errors import CannotTellError, RefusedError, RunEnded, UsageError
from muniment.programs.stable_names import stable_name
from muniment_plugins.providers.recorder.bypass import require_record, state
from muniment_plugins.providers.recorder.description import EXACT_BODIES
from muniment_plugins.providers.recorder.likeness import compared
from muniment_plugins.providers.recorder.server import RecorderServer
from muniment_plugins.providers.recorder.signals import forwarding
from muniment_plugins.providers.secrets.names import SecretNames
from muniment_plugins.providers.secrets.variables import secret_values

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from muniment.runs.run import Run

__all__ = ["Killed", "ProgramFailed", "RecordedProgram", "require_executable"]

KEY_VARIABLES = ("MUNIMENT_KEY", "MUNIMENT_PASSPHRASE")
"""The variables that the program does not get."""

PATIENCE = 5.0
"""Seconds that a program has to end after it was told to."""

_LONGEST_PLACE = 90
"""Addresses of sockets hold a hundred bytes or so."""

_FROM_OUTSIDE = {"SIGHUP", "SIGINT", "SIGKILL", "SIGQUIT", "SIGTERM"}
"""Signals that say nothing about the program."""

_GUARDS = ("sockets",)


class ProgramFailed(Exception):
    """The program ended with an exit code other than 0."""


class Killed(RunEnded):
    """The program was ended by a signal from outside; *code* is what a shell says."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"the program was ended by {name}", f"Killed by {name}")
        self.code = code


@stable_name("muniment:recorded-program/1")
class RecordedProgram:
    """A command whose HTTP calls are the effects of a run."""

    def __init__(
        self,
        command: Sequence[str] = (),
        notice: Callable[[str], None] | None = None,
        recorded: Sequence[str] = (),
    ) -> None:
        """Run *command*; *notice* is told what a person should know.

        *recorded* is how the command was written down, and only shown.
        """
        self.command = tuple(command)
        self.notice = notice
        self.recorded = tuple(recorded)
        self.exit_code = 0
        """How it ended, as a shell says it."""

    def commanded(
        self, command: Sequence[str], notice: Callable[[str], None] | None = None
    ) -> RecordedProgram:
        """Return the program that *command* is, for the same run.

        Raises:
            CannotTellError: *command* is empty; what is recorded is never executed.
            UsageError: it cannot be executed.

        """
        chosen = RecordedProgram(command, notice or self.notice, self.recorded)
        chosen.require_command()
        require_executable(chosen.command)
        return chosen

    def changed_outcome(self, kind: str, request: object, value: object) -> object:
        """Return the HTTP answer that says *value*, for a fork that is given it.

        Raises:
            UsageError: no answer to that *request* says it.

        """
        from muniment_plugins.providers.recorder.changed import (  # noqa: PLC0415 - few need it
            changed_answer,
        )

        return changed_answer(kind, request, value)

    def require_command(self) -> None:
        """Refuse to run what nobody gave.

        Raises:
            CannotTellError: there is no command.

        """
        if not self.command:
            raise CannotTellError(
                "a recorded program runs again by a command line that is given",
                rule="replay/command",
                remedy=f"put it behind two dashes: `-- {shlex.join(self.recorded)}`",
            )

    async def __call__(
        self,
        run: Run,
        volatile: Iterable[str] = (),
        command: Sequence[str] = (),
        program: Mapping[str, str] | None = None,
        keep: Iterable[str] = (),
        redact: Iterable[str] = (),
        **told: object,
    ) -> dict[str, object]:
        """Run the command to its end.

        What hides secrets are the names that the record began with: before there were
        ``weak_names``, such as ``token`` alone, requests were recorded with their values;
        before there were ``exact_bodies``, JSON as Python reads it.

        Raises:
            ProgramFailed: its exit code is not 0.
            Killed: it was ended from outside.
            UsageError: there is no such command.

        """
        self.require_command()
        require_record(run)
        names = SecretNames.of(keep, redact, weak=told.get("weak_names") is True)
        run.memory[EXACT_BODIES] = told.get("exact_bodies") is True
        if run.has_record:
            for line in compared(run, (command, program), self.command, names):
                self._tell(line)
        server = RecorderServer(run, volatile, secret_values(names), names)
        with run.unguarded(*_GUARDS), _private_directory() as directory:
            address = await server.listen(directory)
            try:
                code = await self._ended(server, address, offline=run.replays)
            finally:
                await server.close()
                for line in state(run, server, self.command, names):
                    self._tell(line)
        for event, what in server.tried:
            with suppress(RefusedError):  # the guard of the replay keeps it
                sys.audit(event, what)
        return self._result(server, code)

    async def _ended(
        self, server: RecorderServer, address: str, *, offline: bool
    ) -> int:
        """Return the exit code of the command, negative where a signal ended it."""
        process = await self._started(address, offline=offline)
        server.unrecorded.pid = process.pid
        waiting = asyncio.ensure_future(process.wait())
        try:
            with nullcontext() if offline else forwarding(process):
                server.prepare()
                ends: set[asyncio.Future[Any]] = {waiting, server.stopped}
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if server.stopped.done():
                server.stopped.result()
            return await waiting
        finally:
            await _end(process, waiting)

    async def _started(self, address: str, *, offline: bool) -> Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self.command,
                env=_environment(address, offline=offline),
                stdout=_stdout(),
                close_fds=False,  # what of ours is open, no child inherits
            )
        except OSError as error:
            raise UsageError(
                f"it cannot be started: {error.strerror or error}",
                rule="record/command",
                place=self.command[0],
                remedy="give a program that can be executed, such as `python agent.py`",
            ) from error

    def _result(self, server: RecorderServer, code: int) -> dict[str, object]:
        if code == -signal.SIGINT or code == 128 + signal.SIGINT:
            raise KeyboardInterrupt
        self.exit_code = code if code >= 0 else 128 - code
        name = _signal_name(code)
        if name in _FROM_OUTSIDE:
            raise Killed(name, self.exit_code)
        if code:
            how = f"was ended by {name}" if code < 0 else f"ended with exit code {code}"
            cause = server.failure or server.lacked
            raise ProgramFailed(f"the program {how}") from cause
        return {"exit_code": 0}

    def _tell(self, message: str) -> None:
        if self.notice is not None:
            self.notice(message)


def require_executable(command: Sequence[str]) -> None:
    """Refuse a command that the system would not start, or that nobody could record.

    Raises:
        UsageError: it is not there, is not a program, or is given what is not text.

    """
    for number, argument in enumerate(command):
        if argument != argument.encode("utf-8", "replace").decode():
            raise UsageError(
                "it is not UTF-8, as a record has to be",
                rule="record/command",
                place=f"argument {number} of the command" if number else "the command",
                remedy="spell it in UTF-8, or let the program read it from a file",
            )
    name = command[0]
    if shutil.which(name) is not None:
        return
    message, remedy = (
        "there is no such command",
        "give a program that can be executed, such as `python agent.py`",
    )
    if Path(name).is_file():
        message, remedy = (
            "the file is not executable",
            f"`chmod +x {shlex.quote(name)}`, or give its interpreter before it",
        )
    raise UsageError(message, rule="record/command", place=name, remedy=remedy)


def _stdout() -> int | None:
    """Return where our own stdout goes, which somebody may have put aside."""
    try:
        sys.stdout.flush()
        return sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):  # it is not a file
        return None


def _signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name if code < 0 else ""
    except ValueError:
        return f"signal {-code}"


def _environment(address: str, *, offline: bool) -> dict[str, str]:
    """Return the environment of the program."""
    found = {k: v for k, v in os.environ.items() if k not in KEY_VARIABLES}
    injected = str(Path(__file__).parent / "injected")
    paths = [injected, found["PYTHONPATH"]] if found.get("PYTHONPATH") else [injected]
    found["PYTHONPATH"] = os.pathsep.join(paths)
    found["MUNIMENT_RECORDER"] = address
    found.pop("MUNIMENT_OFFLINE", None)
    return {**found, "MUNIMENT_OFFLINE": "1"} if offline else found


@contextmanager
def _private_directory() -> Generator[Path]:
    """Give a directory that only this user may enter, with a short name."""
    short = len(tempfile.gettempdir()) < _LONGEST_PLACE - len(
        "/muniment-12345678/recorder"
    )
    place = None if short or not Path("/tmp").is_dir() else "/tmp"  # noqa: S108 - mkdtemp
    with tempfile.TemporaryDirectory(prefix="muniment-", dir=place) as directory:
        yield Path(directory)


async def _end(process: Process, waiting: asyncio.Future[int]) -> None:
    """Make sure that the program has ended."""
    for stop in (process.terminate, process.kill):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            stop()
        await asyncio.wait({waiting}, timeout=PATIENCE)

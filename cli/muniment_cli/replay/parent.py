"""The process that judges a replay, and its conversation with the program's process.

    with ProgramProcess() as child:                  starts, while the record is verified
        judge = Judge(ledger, run, mode)
        heard = child.conduct(judge, order, excerpt(ledger, judge.record), floor)
    heard.isolation["level"]                "os-strong"

Rules:

- The other process is not believed. Its reports are bounded, are data, and are compared
  with the record here; what it reports about itself can only make the verdict worse.
- It cannot block this process: its pipes do not block, its death is noticed, and it
  dies with this process.
- Its layers are checked before the program is imported; if they are fewer than
  required, nothing is imported.
- Synthesised code runs here, in a capsule: the other process may start nothing.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

from muniment.errors import CannotTellError, MunimentError, RefusedError, ValueRefused
from muniment_cli.replay.environment import kept_from
from muniment_cli.replay.frames import Incoming, frame
from muniment_cli.replay.refusals import refusal, said
from muniment_cli.shell.process_end import end_command
from muniment_cli.terminal.relay import Relay

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.replays.judge import Judge
    from muniment_cli.replay.child import Order

__all__ = ["Heard", "ProgramProcess"]

_CODE = "from muniment_cli.replay.child import main; main({}, {})"
_SECRET = ("MUNIMENT_KEY", "MUNIMENT_PASSPHRASE")
_LOOK = 0.5
"""Seconds between checks that the other process lives."""
_PATIENCE = 5.0
"""Seconds that it has to end after it has reported the end."""
_LONGEST, _TIMES = 64 << 20, 4
"""Bytes of a frame, and how much more for each byte of the record."""
_MOST, _EACH = 10_000, 4
"""Frames, and how many more for each event of the record."""
_ASKED = 256
"""Executions that it may ask for at a time; in all, one for each event of the record."""
_ODD = (
    *(AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError),
    ValueRefused,
)


@dataclass(slots=True)
class Heard:
    """The result of a program's process."""

    isolation: dict[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])
    """``level``, active ``layers``, and those ``missing``."""
    guards: tuple[str, ...] | None = None
    denied: list[str] = field(default_factory=list[str])
    """The things that the layers denied, and that the program may have needed."""
    ended: bool = False


class ProgramProcess:
    """A process for a program, started before there is anything to do."""

    def __init__(self, environment: Mapping[str, str], *, command: bool) -> None:
        """Start it with *environment*, without the ledger's keys.

        A typed *command* gets the terminal and the descriptors that we inherited; a
        program does not.
        """
        theirs, self._told = os.pipe()
        self._heard, their_end = os.pipe()
        for end in (theirs, their_end):
            os.set_inheritable(end, True)
        known = {k: v for k, v in environment.items() if k not in _SECRET}
        self._relay = Relay(2) if os.isatty(2) and not command else None
        out = 2 if self._relay is None else self._relay.end
        typed = os.isatty(0) and not command
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our text
                [sys.executable, "-P", "-c", _CODE.format(theirs, their_end)],
                env=known,
                pass_fds=() if command else (theirs, their_end),
                close_fds=not command,
                stdin=subprocess.DEVNULL if typed else None,
                stdout=out,
                stderr=out,
            )
        finally:
            os.close(theirs)
            os.close(their_end)
        for pipe in (self._told, self._heard):
            os.set_blocking(pipe, False)
        self._sending = bytearray()
        self._command = command

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for pipe in (self._told, self._heard):
            os.close(pipe)
        if self._command:
            end_command(self._process, cut_off=kind is not None)
        self._process.kill()
        self._process.wait()
        if self._relay is not None:
            self._relay.close()

    def conduct(
        self,
        judge: Judge,
        order: Order,
        record: bytes,
        floor: str = "none",
        trusted: bool = False,
        timeout: float | None = None,
    ) -> Heard:
        """Run the program of *order*, and tell *judge* what it does.

        A program that nobody named, and that is not *trusted*, runs behind every layer.

        Raises:
            CannotTellError: it died, ran for longer than *timeout* seconds, or sent
                something that no process of ours sends.
            RefusedError: its isolation is below *floor*, or below what it needs.

        """
        talk = _Talk(self, judge, floor, _LONGEST + _TIMES * len(record))
        talk.trusted = trusted or bool(order["command"]) or order["program"] is not None
        self.say(order)
        self._sending += len(record).to_bytes(8, "big") + record
        try:
            talk.run(timeout)
        finally:
            talk.close()
        if not talk.heard.ended:
            raise self._died(order["run"])
        return talk.heard

    # -- for the talk ----------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def heard(self) -> int:
        """The pipe that it writes to."""
        return self._heard

    @property
    def told(self) -> int:
        """The pipe that it reads from."""
        return self._told

    @property
    def waits(self) -> bool:
        """Whether there is something that it has not read yet."""
        return bool(self._sending)

    def say(self, what: object) -> None:
        """Queue a frame for it."""
        self._sending += frame(what)

    def push(self) -> None:
        """Write as much as it takes now."""
        try:
            del self._sending[: os.write(self._told, self._sending)]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._sending.clear()  # elsewhere it is noticed that it is gone

    def lives(self) -> bool:
        """Tell whether it is still running."""
        return self._process.poll() is None

    def _died(self, run: str) -> CannotTellError:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code == 130:  # noqa: PLR2004 - the shell's code for SIGINT
            raise KeyboardInterrupt
        return CannotTellError(
            f"the process that replayed it ended with code {code}",
            rule="replay/child",
            place=f"run {run}",
            remedy="look at what it printed; the program may have ended it, or lacked --memory",
        )


class _Talk:
    """One conversation: incoming frames, running executions, outgoing answers."""

    def __init__(
        self, child: ProgramProcess, judge: Judge, floor: str, longest: int
    ) -> None:
        self.heard = Heard()
        self.trusted = False
        """Whether the user named the program, or trusts it."""
        self._child, self._judge, self._floor = child, judge, floor
        self._incoming = Incoming(longest)
        self._left = _MOST + _EACH * len(judge.record.events)
        self._executions = len(judge.record.events)
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._asked: set[Future[object]] = set()
        self._wake, self._rouse = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._rouse, False)
        self._answers: list[object] = []

    def close(self) -> None:
        """Cancel waiting executions, and wait for running ones."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        os.close(self._wake)
        os.close(self._rouse)

    def run(self, timeout: float | None = None) -> None:
        """Listen until the end is reported, or the other process is gone."""
        latest = inf if timeout is None else time.monotonic() + timeout
        with selectors.DefaultSelector() as known:
            known.register(self._child.heard, selectors.EVENT_READ)
            known.register(self._wake, selectors.EVENT_READ)
            writing = False
            while not self.heard.ended:
                if self._child.waits != writing:
                    writing = self._child.waits
                    if writing:
                        known.register(self._child.told, selectors.EVENT_WRITE)
                    else:
                        known.unregister(self._child.told)
                lived = self._child.lives()
                rest = min(_LOOK, max(0, latest - time.monotonic()))
                ready = known.select(rest if lived else 0)
                more = self._serve({key.fd for key, _ in ready})
                if not more or (not lived and not ready):
                    return
                if time.monotonic() > latest:
                    raise self._late(timeout)

    def _serve(self, ready: set[int]) -> bool:
        """Serve the *ready* pipes; False once the other side has closed its end."""
        if self._child.told in ready:
            self._child.push()
        if self._wake in ready:
            os.read(self._wake, 1 << 16)
            while self._answers:
                self._child.say(self._answers.pop(0))
        if self._child.heard not in ready:
            return True
        more = self._incoming.take(self._child.heard)
        try:
            for told in self._incoming.frames():
                self._left -= 1
                if self._left < 0:
                    self._garbled("it never ends")
                self._hear(cast("list[Any]", told))
        except MunimentError as error:
            if isinstance(error, ValueRefused):
                self._garbled(error.message)
            raise
        except _ODD as error:
            self._garbled(str(error))
        return more

    def _hear(self, told: list[Any]) -> None:
        if not self.heard.isolation:
            match told:
                case ["layers", stated]:
                    self._admit(cast("dict[str, object]", stated))
                case _:
                    self._garbled("it speaks before its layers are known")
            return
        match told:
            case ["ask", int(number), request] if self._may_ask():
                self._execute(number, cast("JsonValue", request))
            case ["refused", error]:
                raise refusal(cast("dict[str, object]", error))
            case ["end", ended, attempts, denied, guards]:
                self._end(ended, attempts, denied, guards)
            case _:
                self._judge.hear(told)

    def _admit(self, stated: dict[str, object]) -> None:
        from muniment_plugins.capsule.isolation.confinement import LEVELS, judged

        self.heard.isolation = found = judged(self._child.pid, stated)
        level = cast("str", found["level"])
        lacking = ", ".join(f"{n} {why}" for n, why in _texts(found["missing"]))
        if not self.trusted and level != LEVELS[-1]:
            raise RefusedError(
                "only the ledger says which program this is, and isolation layers that should "
                f"hold it are missing: it would have {level}",
                rule="replay/untrusted",
                place=lacking,
                remedy="name it with --program, or give --trust-program if you know it",
            )
        if LEVELS.index(level) < LEVELS.index(self._floor):
            raise RefusedError(
                f"{self._floor} isolation is required, this replay has {level}",
                rule="replay/isolation",
                place=lacking or "a command keeps its files and processes",
                remedy="`muniment doctor` says what this machine lacks; or require less",
            )
        self._child.say(["go"])

    def _may_ask(self) -> bool:
        """Tell whether an execution may be asked for; each is one of the record's."""
        self._executions -= 1
        return self._executions >= 0 and len(self._asked) < _ASKED

    def _execute(self, number: int, request: JsonValue) -> None:
        from muniment.replays.replay import execute_code

        future = self._pool.submit(partial(execute_code, self._judge, request))
        self._asked.add(future)
        future.add_done_callback(partial(self._answer, number))

    def _answer(self, number: int, future: Future[object]) -> None:
        self._asked.discard(future)
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            self._answers.append(["answer", number, "given", future.result()])
        elif isinstance(error, Exception):
            self._answers.append(["answer", number, "refused", said(error)])
        try:
            os.write(self._rouse, b"x")
        except OSError:
            return  # it is awake already, or gone

    def _end(
        self,
        ended: dict[str, Any] | None,
        attempts: list[Any],
        denied: list[Any],
        guards: list[Any] | None,
    ) -> None:
        """Take the end; another shape raises one of `_ODD`."""
        known = None if ended is None else _ending(ended)
        pairs = [(str(name)[:40], str(what)[:200]) for name, what in attempts[:1000]]
        self.heard.denied = kept_from(denied, known)
        if guards is not None:
            self.heard.guards = tuple(str(one)[:40] for one in guards[:10])
        self._judge.conclude(known, pairs)
        self.heard.ended = True

    def _late(self, timeout: float | None) -> CannotTellError:
        return CannotTellError(
            f"the program did not end within {timeout:g} seconds",
            rule="replay/timeout",
            place=f"run {self._judge.recording.run_id}",
            remedy="give it more time with --timeout, or look at what it waits for",
        )

    def _garbled(self, why: str) -> NoReturn:
        raise CannotTellError(
            f"the replaying process sent something that muniment never sends: {why[:200]}",
            rule="replay/child",
            place=f"run {self._judge.recording.run_id}",
            remedy="its program may have written into the pipe; look at the program",
        )


def _ending(told: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return only the members of an end that the judge takes."""
    kept = {"visibility": "private"} if told.get("visibility") == "private" else {}
    if told["type"] == "run.completed":
        return {n: told[n] for n in ("type", "result") if n in told} | kept
    if told["type"] != "run.failed":
        raise ValueError("a program completes, or fails")
    texts = {name: told[name] for name in ("error_type", "message")}
    if not all(isinstance(one, str) for one in texts.values()):
        raise TypeError("an error has a name and a message")
    return {**texts, **kept, "type": "run.failed", "imports": told.get("imports", [])}


def _texts(value: JsonValue) -> list[tuple[str, str]]:
    pairs = value.items() if isinstance(value, dict) else ()
    return [(name, str(text)) for name, text in pairs]

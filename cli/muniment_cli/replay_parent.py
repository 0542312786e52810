"""The process that judges a replay, and what it says to the one that runs the program.

    with Child() as child:                  starts, while the record is verified
        judge = Judge(ledger, run, mode)
        heard = child.conduct(judge, order, excerpt(ledger, judge.record), floor)
    heard.isolation["level"]                "os-strong"

Rules:

- The other process is not believed. What it tells is bounded, is data, and is held
  against the record here; what it says of itself can only make the verdict worse.
- Nothing that it can touch blocks this process: its pipes do not block, its death is
  noticed, and it dies with this process.
- Its layers are looked at before the program is imported; where they are less than was
  required, nothing is.
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
from muniment_cli.ending import end_command
from muniment_cli.refusals import refusal, said
from muniment_cli.relay import Relay
from muniment_cli.replay_frames import Incoming, frame

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.judge import Judge
    from muniment_cli.replay_child import Order

__all__ = ["Child", "Heard"]

_CODE = "from muniment_cli.replay_child import main; main({}, {})"
_SECRET = ("MUNIMENT_KEY", "MUNIMENT_PASSPHRASE")
_LOOK = 0.5
"""Seconds after which it is looked whether the other process lives."""
_PATIENCE = 5.0
"""Seconds that it has to end after it has told the end."""
_LONGEST, _TIMES = 64 << 20, 4
"""Bytes of a frame, and how much more for each byte of the record."""
_MOST, _EACH = 10_000, 4
"""Frames, and how many more for each event of the record."""
_ASKED = 256
"""Executions that may be asked for at a time."""
_ODD = (
    *(AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError),
    ValueRefused,
)


@dataclass(slots=True)
class Heard:
    """What a program's process came to."""

    isolation: dict[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])
    """``level``, ``layers`` that stand, and what is ``missing``."""
    guards: tuple[str, ...] | None = None
    denied: list[str] = field(default_factory=list[str])
    """What the layers denied, and the program may have needed."""
    ended: bool = False


class Child:
    """A process that a program runs in, started before there is anything to do."""

    def __init__(self, environment: Mapping[str, str], *, command: bool) -> None:
        """Start it with *environment*, without the ledger's keys.

        A terminal is given to a *command* that was typed, and to no program.
        """
        theirs, self._told = os.pipe()
        self._heard, their_end = os.pipe()
        known = {k: v for k, v in environment.items() if k not in _SECRET}
        self._relay = Relay(2) if os.isatty(2) and not command else None
        out = 2 if self._relay is None else self._relay.end
        typed = os.isatty(0) and not command
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our text
                [sys.executable, "-P", "-c", _CODE.format(theirs, their_end)],
                env=known,
                pass_fds=(theirs, their_end),
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
        """Let the program of *order* run, and tell *judge* what it does.

        One that nobody named, and that is not *trusted*, stands behind every layer.

        Raises:
            CannotTellError: it died, ran for longer than *timeout* seconds, or said
                what nothing of ours says.
            RefusedError: it stands behind less than *floor*, or than it has to.

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
        """Whether there is something that it has not taken yet."""
        return bool(self._sending)

    def say(self, what: object) -> None:
        """Queue a frame for it."""
        self._sending += frame(what)

    def push(self) -> None:
        """Write what it takes now."""
        try:
            del self._sending[: os.write(self._told, self._sending)]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._sending.clear()  # that it is gone is noticed elsewhere

    def lives(self) -> bool:
        """Tell whether it has not ended."""
        return self._process.poll() is None

    def _died(self, run: str) -> CannotTellError:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code == 130:  # noqa: PLR2004 - as a shell says it
            raise KeyboardInterrupt
        return CannotTellError(
            f"the process that replayed it ended with code {code}",
            rule="replay/child",
            place=f"run {run}",
            remedy="look at what it printed; the program may have ended the process",
        )


class _Talk:
    """One conversation: frames that come, executions that run, answers that go."""

    def __init__(self, child: Child, judge: Judge, floor: str, longest: int) -> None:
        self.heard = Heard()
        self.trusted = False
        """Whether the program was named, or is trusted, by whoever replays."""
        self._child, self._judge, self._floor = child, judge, floor
        self._incoming = Incoming(longest)
        self._left = _MOST + _EACH * len(judge.record.events)
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._asked: set[Future[object]] = set()
        self._wake, self._rouse = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._rouse, False)
        self._answers: list[object] = []

    def close(self) -> None:
        """Begin nothing more, and forget what runs."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        os.close(self._wake)
        os.close(self._rouse)

    def run(self, timeout: float | None = None) -> None:
        """Listen until the end is told, or nobody is there to tell it."""
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
        """Do what can be done; False once the other side has closed its end."""
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
            case ["ask", int(number), request] if len(self._asked) < _ASKED:
                self._execute(number, cast("JsonValue", request))
            case ["refused", error]:
                raise refusal(cast("dict[str, object]", error))
            case ["end", ended, attempts, denied, guards]:
                self._end(ended, attempts, denied, guards)
            case _:
                self._judge.hear(told)

    def _admit(self, stated: dict[str, object]) -> None:
        from muniment_plugins.capsule.confinement import LEVELS, judged

        self.heard.isolation = found = judged(self._child.pid, stated)
        level = cast("str", found["level"])
        lacking = ", ".join(f"{n} {why}" for n, why in _texts(found["missing"]))
        if not self.trusted and level != LEVELS[-1]:
            raise RefusedError(
                "the ledger alone says which program this is, and layers that should "
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

    def _execute(self, number: int, request: JsonValue) -> None:
        future = self._pool.submit(partial(_executed, self._judge, request))
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
        """Take in the end; what has another shape raises one of `_ODD`."""
        known = None if ended is None else _ending(ended)
        pairs = [(str(name)[:40], str(what)[:200]) for name, what in attempts[:1000]]
        self.heard.denied = [str(one)[:500] for one in denied[:20]]
        if known is not None and known.get("error_type") == "PermissionError":
            self.heard.denied.append(str(known["message"])[:500])
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
            f"the process that replays says what nothing of ours says: {why[:200]}",
            rule="replay/child",
            place=f"run {self._judge.recording.run_id}",
            remedy="its program may have written into the pipe; look at the program",
        )


def _ending(told: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return an end as the judge takes it, and nothing else of what was told."""
    if told["type"] == "run.completed":
        return {name: told[name] for name in ("type", "result") if name in told}
    if told["type"] != "run.failed":
        raise ValueError("a program completes, or fails")
    texts = {name: told[name] for name in ("error_type", "message")}
    if not all(isinstance(one, str) for one in texts.values()):
        raise TypeError("an error has a name and a message")
    return {"type": "run.failed", **texts}


def _executed(judge: Judge, request: JsonValue) -> object:
    from muniment.lanes import Lane
    from muniment.runs import Recording
    from muniment.values import decode, encode

    port, known = judge.ledger.port, judge.recording
    aside = Recording(port, known.run_id, known.name, mode="dry", seed=known.seed)
    asked = decode(request, port.values)
    answer = port.hook("execute_code", run=Lane(aside), request=asked)
    return encode(answer, port.values)


def _texts(value: JsonValue) -> list[tuple[str, str]]:
    pairs = value.items() if isinstance(value, dict) else ()
    return [(name, str(text)) for name, text in pairs]

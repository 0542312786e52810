"""The process in which a replay's program runs: behind layers, with a record in memory.

    order    {"run": "01JD…", "program": null, "command": [], "plan": {…}, …}, the record
    →        ["layers", {…}]                active layers; then it waits for ["go"]
    →        ["fact", …], ["effect", …]     the program's statements and requests
    →        ["ask", 1, {…}]                an execution; ["answer", 1, {…}] comes back
    →        ["end", {…}, attempts, …]      or ["refused", {…}]

Rules:

- The layers come first, in a single thread, before any of the program is imported. The
  process has neither the ledger nor the trust home; the record comes over the pipe.
- The program's output goes to stderr; it reads the stdin of the command, unless that is
  a terminal (`muniment_cli.terminal.relay`).
- It judges nothing: the parent judges its reports. It reports errors here, too.
- A typed command is started by this process, which runs none of its code: it is kept
  only from the network and from the trust home.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, cast

from muniment_cli.replay.frames import receive, receive_bytes, send

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger
    from muniment.replays.guards import Guard
    from muniment.replays.judge import Mode
    from muniment_cli.replay.targets import Program

__all__ = ["Order", "main"]


class Order(TypedDict):
    """The run to replay, the program, and the layers around it."""

    ledger: str
    ledger_id: str
    run: str
    mode: Mode
    program: str | None
    command: list[str]
    trust_source: bool
    withheld: list[str]
    """Variables that the user has, and the program does not get."""
    plan: dict[str, JsonValue]
    """The layers around a program; empty for a command."""
    names: dict[str, list[str]]
    """The names in folders above the trust home, which may not be listed."""
    memory: int
    """The MiB of memory that it may take; 0 for no limit."""
    scratch: str
    parent: int
    hidden: list[str]
    """The places of the ledger, which no option makes readable."""
    home: str
    """The trust home: a command is kept from it, as a program is by its layers."""


def main(heard: int, told: int) -> None:
    """Take one order from the pipe *heard*, and report the result to the pipe *told*."""
    # imported before there is a limit: what says that memory lacks needs some, too
    from muniment_cli.replay import memory, refusals

    for pipe in (heard, told):
        os.set_inheritable(pipe, False)
    try:
        order = cast("Order", receive(heard))
        record = receive_bytes(heard)
    except (BrokenPipeError, EOFError):
        return  # the parent refused, and says why
    os.dup2(2, 1)
    try:
        send(told, ["layers", _layers(order)])
        if _may_go(heard):
            _run(order, record, _Pipe(heard, told))
    except KeyboardInterrupt:
        _end_command(order)
        os._exit(130)  # the parent was interrupted too, and says so
    except Exception as error:  # noqa: BLE001 - the parent says it in one line
        try:
            _flush()
            better = memory.named(error, order["memory"], order["run"])
            send(told, ["refused", refusals.said(better)])
        except (MemoryError, SystemError, BrokenPipeError):
            os._exit(1)  # the parent says that --memory may be too little, or is gone


def _may_go(heard: int) -> bool:
    with suppress(EOFError):  # the parent refused, and says why
        return receive(heard) == ["go"]
    return False


def _end_command(order: Order) -> None:
    if order["command"]:
        from muniment_cli.shell.process_end import end_descendants

        end_descendants()


def _layers(order: Order) -> dict[str, object]:
    from muniment.replays.machine_reads import ask_machine
    from muniment_cli.replay.memory import hold
    from muniment_cli.shell.process_end import adopt
    from muniment_plugins.capsule.isolation.confinement import confine, hide

    ask_machine()  # behind the layers nothing can be started
    order["memory"] = hold(order["memory"])  # and no limit can be set there
    stated = hide(order["home"]) if order["command"] else confine(order["plan"])
    if order["command"]:
        adopt(order["parent"])
    for folder, names in order["names"].items():
        _find_in(folder, names)
    return stated


def _find_in(folder: str, names: list[str]) -> None:
    """Make modules in *folder* importable, though it may not be listed."""
    from importlib import machinery

    class Told(machinery.FileFinder):
        def _fill_cache(self) -> None:
            self._path_cache = set(names)

    loaders: list[Any] = [
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    ]

    def hook(path: str) -> Any:
        if os.path.realpath(path) == folder:
            return Told(path, *loaders)
        raise ImportError(path)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()


class _Pipe:
    """Reports to the parent, and asks it; any thread of the program may use it."""

    def __init__(self, heard: int, told: int) -> None:
        self._heard, self._told = heard, told
        self._writing = threading.Lock()
        self._waiting: dict[int, list[object]] = {}
        self._turn = threading.Condition()
        self._reading = False
        self._number = 0

    def tell(self, what: object) -> None:
        """Report *what*; it is written when this returns."""
        with self._writing:
            send(self._told, what)

    def ask(self, request: object) -> object:
        """Ask for an execution, and wait for the answer."""
        with self._turn:
            self._number += 1
            number = self._number
        self.tell(["ask", number, request])
        while True:
            with self._turn:
                self._turn.wait_for(
                    lambda: number in self._waiting or not self._reading
                )
                if number in self._waiting:
                    return self._waiting.pop(number)
                self._reading = True
            try:
                _, other, *answer = cast("list[Any]", receive(self._heard))
            finally:
                with self._turn:
                    self._reading = False
                    self._turn.notify_all()
            with self._turn:
                self._waiting[other] = answer
                self._turn.notify_all()


def _run(order: Order, record: bytes, pipe: _Pipe) -> None:
    from pathlib import Path

    from muniment.programs.import_guard import without_ledgers
    from muniment.replays.excerpt import open_excerpt
    from muniment.replays.guards import Guard, guarded
    from muniment.replays.judge import Judge
    from muniment.replays.replay import perform
    from muniment_cli.replay.memory import beyond, is_lack

    sys.dont_write_bytecode = True
    ledger = open_excerpt(
        record,
        path=Path(order["ledger"]),
        ledger_id=order["ledger_id"],
        execute=partial(_ask_parent, pipe),
    )
    with ledger:
        without_ledgers()
        guard = _guard(order, Guard())
        program = _recalled(order, ledger, guard)
        judge = Judge(ledger, order["run"], order["mode"], verified=True)
        judge.held.witness = pipe.tell
        with guarded(guard):
            named = order["program"] is not None
            ended = perform(judge, program, guard, as_recorded=not named)
        if order["memory"] and is_lack((ended or {}).get("error_type")):
            guard.denied.append(beyond(order["memory"]))
        guards = judge.held.guards
        _flush()  # the parent ends this process once it has heard all
        pipe.tell(["end", ended, guard.attempts, guard.denied, guards])


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _recalled(order: Order, ledger: Ledger, guard: Guard) -> Program:
    from muniment.errors import CannotTellError
    from muniment_cli.replay.environment import let_have
    from muniment_cli.replay.recall import recalled

    named, command = order["program"], order["command"]
    try:
        return recalled(ledger, order["run"], named, command, order["trust_source"])
    except CannotTellError as error:
        kept = error.__cause__
        if isinstance(kept, PermissionError) and isinstance(kept.filename, str):
            guard.denied.append(os.path.realpath(kept.filename))
        if not guard.denied or not order["plan"]:
            raise
        raise CannotTellError(
            f"while it was imported it was kept from {', '.join(guard.denied[:3])}: "
            f"{error.message}",
            rule="replay/denied",
            place=f"run {order['run']}",
            remedy=let_have(guard.denied, order["hidden"], order["home"]),
        ) from error


def _guard(order: Order, guard: Guard) -> Guard:
    from muniment_cli.replay.environment import notice, variable
    from muniment_plugins.capsule.isolation.confinement import OWN_FILES

    def looked_up(name: str) -> None:
        if (known := variable(name)) not in guard.denied:
            guard.denied.append(known)

    notice(order["withheld"], looked_up)
    if order["plan"] and not order["command"]:
        plan = cast("Mapping[str, list[str]]", order["plan"])
        guard.scratch = os.path.realpath(order["scratch"])
        places = [*plan["directories"], *plan["files"], *plan["writable"]]
        places += [f"/proc/{os.getpid()}/{name}" for name in OWN_FILES]
        guard.readable = tuple(f"{one}/" for one in places)
        guard.listed = tuple(f"{one}/" for one in plan["listed"])
    return guard


def _ask_parent(pipe: _Pipe, request: JsonValue) -> JsonValue:
    """Let the parent run synthesised code: this process may start nothing."""
    from muniment_cli.replay.refusals import refusal

    kind, answer = cast("list[Any]", pipe.ask(request))
    if kind != "given":
        raise refusal(answer)
    return cast("JsonValue", answer)

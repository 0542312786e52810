"""The process that a replay's program runs in: behind its layers, with a record in memory.

    order    {"run": "01JD…", "program": null, "command": [], "plan": {…}, …}, the record
    →        ["layers", {…}]                what stands; then it waits for ["go"]
    →        ["fact", …], ["effect", …]     what the program states and asks
    →        ["ask", 1, {…}]                an execution; ["answer", 1, {…}] comes back
    →        ["end", {…}, attempts, …]      or ["refused", {…}]

Rules:

- The layers go up first, in one thread, before anything of a program is imported. It has
  neither the ledger nor the trust home; the record comes over the pipe.
- What the program prints goes to stderr; it reads the stdin of the command, unless that
  is a terminal (`muniment_cli.relay`).
- It judges nothing: the parent does, by what is told. What goes wrong here is told too.
- A command that was typed is started by this process, which runs none of its code: it is
  kept from the network and from the trust home alone.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, cast

from muniment_cli.replay_frames import receive, receive_bytes, send

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.guarding import Guard
    from muniment.judge import Mode
    from muniment.ledger import Ledger
    from muniment_cli.targets import Program

__all__ = ["Order", "main"]


class Order(TypedDict):
    """What is to be replayed, how, and behind what."""

    ledger: str
    ledger_id: str
    run: str
    mode: Mode
    program: str | None
    command: list[str]
    trust_source: bool
    withheld: list[str]
    """Variables that whoever replays has, and the program has not."""
    plan: dict[str, JsonValue]
    """The layers around a program; empty for a command."""
    names: dict[str, list[str]]
    """What is in folders on the way to the trust home, which may not be listed."""
    scratch: str
    parent: int
    home: str
    """The trust home, for a command that is kept from it."""


def main(heard: int, told: int) -> None:
    """Take one order from the pipe *heard*, and tell the pipe *told* what came of it."""
    try:
        order = cast("Order", receive(heard))
        record = receive_bytes(heard)
        os.dup2(2, 1)
        send(told, ["layers", _layers(order)])
        if receive(heard) != ["go"]:
            return
    except (BrokenPipeError, EOFError):
        return  # the parent refused, and says why
    try:
        _run(order, record, _Pipe(heard, told))
    except KeyboardInterrupt:
        _end_command(order)
        os._exit(130)  # the parent was interrupted too, and says so
    except Exception as error:  # noqa: BLE001 - the parent says it in one line
        from muniment_cli.refusals import said

        send(told, ["refused", said(error)])


def _end_command(order: Order) -> None:
    if order["command"]:
        from muniment_cli.ending import end_descendants

        end_descendants()


def _layers(order: Order) -> dict[str, object]:
    from muniment.machine_reads import ask_machine
    from muniment_cli.ending import adopt
    from muniment_plugins.capsule.confinement import confine, hide

    ask_machine()  # behind the layers nothing can be started
    stated = hide(order["home"]) if order["command"] else confine(order["plan"])
    if order["command"]:
        adopt(order["parent"])
    for folder, names in order["names"].items():
        _find_in(folder, names)
    return stated


def _find_in(folder: str, names: list[str]) -> None:
    """Let modules be found in *folder*, which may not be listed."""
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
    """Tells the parent, and asks it; any thread of the program may."""

    def __init__(self, heard: int, told: int) -> None:
        self._heard, self._told = heard, told
        self._writing = threading.Lock()
        self._waiting: dict[int, list[object]] = {}
        self._turn = threading.Condition()
        self._reading = False
        self._number = 0

    def tell(self, what: object) -> None:
        """Tell something; it is written when this returns."""
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

    from muniment.excerpt import open_excerpt
    from muniment.guarding import Guard, guarded
    from muniment.imports import without_ledgers
    from muniment.judge import Judge
    from muniment.replaying import perform

    sys.dont_write_bytecode = True
    ledger = open_excerpt(
        record, path=Path(order["ledger"]), ledger_id=order["ledger_id"]
    )
    with ledger:
        _ask_parent(ledger, pipe)
        without_ledgers()
        guard = _guard(order, Guard())
        program = _recalled(order, ledger, guard)
        judge = Judge(ledger, order["run"], order["mode"], verified=True)
        judge.recording.witness = pipe.tell
        with guarded(guard):
            ended = perform(judge, program, guard)
        guards = judge.recording.guards
        pipe.tell(["end", ended, guard.attempts, guard.denied, guards])


def _recalled(order: Order, ledger: Ledger, guard: Guard) -> Program:
    from muniment.errors import CannotTellError
    from muniment_cli.recalling import recalled
    from muniment_cli.replay_environment import let_have

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
            remedy=let_have(guard.denied),
        ) from error


def _guard(order: Order, guard: Guard) -> Guard:
    from muniment_cli.replay_environment import notice, variable

    def looked_up(name: str) -> None:
        if (known := variable(name)) not in guard.denied:
            guard.denied.append(known)

    notice(order["withheld"], looked_up)
    if order["plan"] and not order["command"]:
        plan = cast("Mapping[str, list[str]]", order["plan"])
        guard.scratch = os.path.realpath(order["scratch"])
        places = (*plan["directories"], *plan["writable"], "/proc/self")
        guard.readable = (*(f"{one}/" for one in places), *plan["files"])
        guard.readable += tuple(f"{one}\0" for one in plan["listed"])
    return guard


def _ask_parent(ledger: Ledger, pipe: _Pipe) -> None:
    """Let the parent run synthesised code: this process may start nothing."""
    from muniment.values import decode, encode
    from muniment_cli.refusals import refusal

    here, values = ledger.port.hook, ledger.port.values

    def hook(name: str, **arguments: object) -> object:
        if name != "execute_code":
            return here(name, **arguments)
        request = encode(arguments["request"], values)
        kind, answer = cast("list[Any]", pipe.ask(request))
        if kind == "given":
            return decode(answer, values)
        raise refusal(answer)

    ledger.port.hook = hook  # type: ignore[method-assign]  # the one hook that acts

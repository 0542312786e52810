"""What a child does with its one request, from its first byte to its last.

    <- {"imports": ["math"], "paths": [], "walls": {…}}       read by the worker, if any
    <- {"code": "…", "data": …, "entrypoint": "fit_and_eval", "imports": ["math"], …}
    -> {"layers": {"import_guard": true, "seccomp": {…}, …}, "packages": {"numpy": "2.3.5"}}
    <- {"go": true}
    -> {"ok": {"total": 15}}      or {"failed": {"rule": "raised", "message": "…", …}}

`worker` explains the order. Only small modules are imported here: every execution pays
for every millisecond of this file.
"""

from __future__ import annotations

import os
import sys
import time

from muniment_plugins.capsule.child.guard import (
    build_views,
    guarded_import,
    safe_builtins,
)
from muniment_plugins.capsule.child.package_guards import tighten
from muniment_plugins.capsule.child.rewrite import compiled
from muniment_plugins.capsule.child.runtime_refusal import end_with, is_raised
from muniment_plugins.capsule.child.seeds import Seeds
from muniment_plugins.capsule.isolation.limits import apply_limits, grow_stack
from muniment_plugins.capsule.isolation.lockdown import Readied, load_late, prepare
from muniment_plugins.capsule.isolation.syscall_trap import PROGRAM, place_of
from muniment_plugins.capsule.protocol import (
    MAX_MESSAGE,
    MAX_TYPE,
    Unsendable,
    quoted,
    receive,
    render,
    render_metrics,
    send,
)
from muniment_plugins.capsule.value_decoder import decode_plain

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any, NoReturn

    from muniment_plugins.capsule.child.guard import View
    from muniment_plugins.capsule.child.probe import Prober

__all__ = [
    "MODULE",
    "PROGRAM",
    "LoadedProgram",
    "failure",
    "namespace_of",
    "serve",
    "serve_alone",
]

MODULE = "program"
RESERVE = 512 * 1024
"""Memory reserved for reporting that there is no more."""
_SAID = {"memory": "the memory is used up"}
OUTPUT = 1
_LONG_S = 3600


class LoadedProgram:
    """A program's surroundings, made ready before it: modules, views, layers."""

    def __init__(self, around: Mapping[str, Any], *, is_shared: bool) -> None:
        self.is_shared = is_shared
        self.walls: Mapping[str, Any] = around["walls"]
        self.packages: dict[str, str] = {}
        self.seeds = Seeds()
        self.system = prepare(self.walls)
        self.readied: Readied | None = None
        self._loaded: set[str] = set()
        self.asked: list[str] = []
        """The imports that were asked for last."""
        self._views: dict[tuple[str, ...], dict[str, View]] = {}
        sys.path.extend(around["paths"])
        grow_stack(self.system)

    def load(self, imports: list[str]) -> bool:
        """Load *imports* and make their views; tell whether any was new."""
        new = [name for name in imports if name not in self._loaded]
        # The first time, the modules that Python itself loaded are tightened too.
        if new or not self._views:
            for name in new:
                __import__(name)
            load_late(self.system, new)
            tighten()
            self._loaded.update(new)
            self.packages = _versions()
        together = tuple(imports)
        self.asked = imports
        if new or together not in self._views:
            self._views = {together: build_views(imports)}
        return bool(new)

    def tighten(self) -> None:
        """Tighten also the modules that packages loaded on use."""
        tighten()

    def views(self, imports: list[str], clock: str) -> dict[str, View]:
        """Return the views of *imports*; reuse them if these were loaded last."""
        made = self._views.get(tuple(imports)) if clock == "real" else None
        return build_views(imports, clock) if made is None else made

    def ready(self) -> None:
        """Open what the layers let through; call this after everything is loaded."""
        if self.readied is None and self.system is not None:
            self.readied = Readied(self.system, self.walls)

    def descriptors(self) -> list[int]:
        """Return the descriptors that are open for `lock`."""
        return self.readied.descriptors() if self.readied is not None else []

    def lock(self, parent: int, answers: int) -> dict[str, object]:
        """Lock this process in; return the active layers."""
        self.ready()
        if self.readied is None:
            missing = {"missing": "no walls are made for this system"}
            return {"landlock": missing, "seccomp": missing}
        return self.readied.lock(parent, answers)


def _versions() -> dict[str, str]:
    """Return the versions of all loaded packages, as they state them."""
    names = sorted(sys.modules.keys() - sys.stdlib_module_names)
    found = {
        name: vars(sys.modules[name]).get("__version__")
        for name in names
        if "." not in name and type(sys.modules[name]) is type(sys)
    }
    return {name: told for name, told in found.items() if type(told) is str}


def serve_alone(results: int) -> NoReturn:
    """Answer the one request of this interpreter, on descriptor *results*."""
    try:
        around = receive(0)
        prepared = LoadedProgram(around, is_shared=False)
        prepared.load(around["imports"])
        prepared.ready()
    except Exception as error:  # noqa: BLE001 - a package may raise anything on import
        send(results, failure("prepare", error))
        _end()
    serve(prepared, results, around["walls"].get("parent", 0))


def serve(prepared: LoadedProgram, results: int, parent: int) -> NoReturn:
    """Answer one request on descriptor *results*, as the child of *parent*."""
    request = receive(0)
    try:
        prober = _prober() if request["code"] is None else None
        data = decode_plain(request["data"])
        prepared.seeds.start(request["seed"])
    except Exception as error:  # noqa: BLE001 - a package may raise anything for a seed
        send(results, failure("prepare", error))
        _end()
    views = prepared.views(request["imports"], request["clock"])
    namespace = namespace_of(views, request["max_output"])
    sys.dont_write_bytecode = True
    null = os.open(os.devnull, os.O_RDONLY)
    limits = apply_limits(**request["limits"])
    walls = prepared.lock(parent, results)
    layers = {"import_guard": True, "rlimits": limits, **walls}
    send(results, render({"layers": layers, "packages": prepared.packages}))
    _await_go(null)
    if prober is not None:
        prober.run(results, OUTPUT)
    else:
        _run(request["code"], namespace, request["entrypoint"], data, results)
    if prepared.is_shared and prober is None:
        _linger(results)
    _end()


def _prober() -> Prober:
    from muniment_plugins.capsule.child.probe import Prober  # noqa: PLC0415 - once per host

    return Prober()


def namespace_of(views: Mapping[str, View], max_output: int) -> dict[str, object]:
    """Return the program's globals, in a module that `sys.modules` lists.

    Dataclasses look their module up by name.
    """
    module: ModuleType = type(sys)(MODULE)
    names = safe_builtins(guarded_import(views), _writer(max_output))
    sys.modules[MODULE] = module
    namespace = module.__dict__
    namespace["__builtins__"] = names
    return namespace


def _writer(left: int) -> Callable[[str], None]:
    """Return print's writer, which writes at most one byte more than is kept."""
    left += 1

    def write(text: str) -> None:
        nonlocal left
        part = memoryview(text.encode(errors="backslashreplace"))[:left]
        left -= len(part)
        while part:
            part = part[os.write(OUTPUT, part) :]

    return write


def _await_go(null: int) -> None:
    if receive(0) != {"go": True}:
        _end()
    # Nothing more will be read: the program finds an empty input.
    os.dup2(null, 0)
    os.close(null)


def _run(
    code: str,
    namespace: dict[str, Any],
    entrypoint: str,
    data: object,
    results: int,
) -> None:
    """Run the program and send its result."""
    reserve = [bytes(RESERVE)]  # zeros, which take address space and no memory

    def end(error: BaseException, is_refusal: bool) -> NoReturn:
        reserve.clear()
        # What the error holds is not released before: releasing it can end a process
        # that is out of memory.
        send(results, failure("refused" if is_refusal else _rule_of(error), error))
        _end()

    end_with(end)
    try:
        exec(compiled(code), namespace)  # noqa: S102 - what this process is for
        text = render_metrics(namespace[entrypoint](data))
    except BaseException as error:  # noqa: BLE001 - whatever it raises is its result
        end(error, is_refusal=False)
    send(results, text)


def _rule_of(error: BaseException) -> str:
    if isinstance(error, Unsendable):
        return str(error.args[0])
    is_limit = isinstance(error, MemoryError) and not is_raised(error)
    return "memory" if is_limit else "raised"


def failure(rule: str, error: BaseException) -> str:
    """Return the frame that says that *error* broke *rule*."""
    line, column = _position(error)
    return render(
        {
            "failed": {
                "column": column,
                "line": line,
                "message": _message(error) or _SAID.get(rule, ""),
                "rule": rule,
                "type": type(error).__name__[:MAX_TYPE],
            }
        }
    )


def _message(error: BaseException) -> str:
    """Return the error's text, which its class may define in any way."""
    try:
        text = str(
            error.args[1]
            if isinstance(error, Unsendable)
            else BaseException.__str__(error)
        )[:MAX_MESSAGE]
        quoted(text)
    except Exception:  # noqa: BLE001 - the program's own __str__ or a surrogate
        return "its text cannot be shown"
    return text


def _position(error: BaseException) -> tuple[int, int]:
    """Return line and column, from 1, of the last place inside the program."""
    line, column = 0, 0
    trace = error.__traceback__
    if trace is None:  # it was not raised
        return place_of(sys._getframe())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - inspect is slow
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == PROGRAM:
            line = trace.tb_lineno
            places = list(code.co_positions())
            column = (places[trace.tb_lasti // 2][2] or 0) + 1
        trace = trace.tb_next
    return line, column


def _linger(results: int) -> NoReturn:
    """Wait to be killed: ending a process takes longer than answering."""
    os.close(results)
    while True:
        time.sleep(_LONG_S)


def _end() -> NoReturn:
    os._exit(0)

"""What stops a program in the middle of a call, as it is told and raised again.

    sys.exit(143)   {"name": "SystemExit", "message": "143", "origins": [],
                     "args": [143], "attributes": {}, "place": "call"}

Rules:

- A stop is an error that is no `Exception`: of a signal's handler, or of whatever else is
  called while the call is under way. A replay does not call that again: the stop is raised
  where it struck, with the same text, arguments, attributes and exit code.
- Of arguments, texts, numbers, bools and None come again, and the text of everything else:
  as an exit code, Python prints it and exits with 1. So do attributes that are one of
  these.
- On a loop, a task that is cancelled or forgotten makes its call end. The program does that
  by itself, in a replay too; unless a stop left the loop meanwhile, which ends all calls: a
  replay lets it leave the loop again, once each call under way there was given what it had
  by then. That is the ``place``: ``call``, ``loop``, or
  ``runner`` for Ctrl-C that `asyncio.Runner` turns into a cancellation.
- This runs in the program's own interpreter: the standard library only.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside import wire
else:
    try:
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import wire

__all__ = [
    "Around",
    "again",
    "is_cancelled",
    "leave",
    "leaves",
    "made_of",
    "raising",
    "told",
]

_CANCELLED = ("Cancelled", "CancelledError")
_CALL, _LOOP, _RUNNER = "call", "loop", "runner"
_STOP = 3
"""Where a fault has what a stop was made of."""
_LOOK, _OTHERS = 0.002, 1.0
"""How often is looked whether other calls are as far, and for how long; in seconds."""
_MOST = 16
"""How many arguments, attributes and origins are looked at."""


class Around:
    """What surrounds a call on a loop when it begins; it tells what ended the call."""

    def __init__(self) -> None:
        self._handled = [*_behind(sys.exc_info()[1])]
        self._interrupts = _interrupts()
        self._left: BaseException | None = None
        self._loop = _running_loop()
        _UNDER_WAY.add(self)

    def over(self) -> None:
        """Notice that the call was given all that it gets."""
        _UNDER_WAY.discard(self)

    async def others(self) -> None:
        """Wait until the other calls of this loop were given all that they get.

        One that the program holds and never reads is not waited for without end.
        """
        import asyncio  # noqa: PLC0415 - the program has it

        self.over()
        until = time.monotonic() + _OTHERS
        while time.monotonic() < until:
            if all(one._loop is not self._loop for one in [*_UNDER_WAY]):  # noqa: SLF001 - of this class
                return
            await asyncio.sleep(_LOOK)

    def notice(self) -> None:
        """Notice what has left the loop; called where its end is handled by nobody inside.

        A task that is cancelled with all others runs in whatever handles the stop.
        """
        for one in _behind(sys.exc_info()[1]):
            if _is_stop(one) and not any(one is known for known in self._handled):
                self._left = one
                return

    def told(self, error: BaseException) -> dict[str, Any]:
        """Return what stopped the call, which ended by *error*."""
        if not (is_cancelled(error) or isinstance(error, GeneratorExit)):
            return told(error)
        if _interrupts() > self._interrupts:
            return told(KeyboardInterrupt(), _RUNNER)
        if self._left is not None:
            return told(self._left, _LOOP)
        return {"name": "CancelledError", "message": _text(error)}


_UNDER_WAY: weakref.WeakSet[Around] = weakref.WeakSet()


@contextmanager
def raising(error: BaseException) -> Generator[None]:
    """Raise *error* again at the end, as it is: with what is behind it."""
    behind = error.__context__
    try:
        yield
        raise error
    finally:
        error.__context__ = behind
        del error, behind  # or its traceback would keep it


def is_cancelled(error: BaseException) -> bool:
    """Tell whether *error* is a loop's cancellation of a task."""
    return not isinstance(error, Exception) and type(error).__name__ in _CANCELLED


def told(error: BaseException, place: str = _CALL) -> dict[str, Any]:
    """Return what a replay needs to raise *error* again."""
    named = {"name": wire.class_name(error), "message": _text(error)}
    return {**named, "origins": wire.origins(error), **made_of(error), "place": place}


def made_of(error: BaseException) -> dict[str, Any]:
    """Return arguments and attributes of *error*."""
    attributes = {
        name: _plain(value)
        for name, value in [*vars(error).items()][:_MOST]
        if value is None or isinstance(value, (bool, float, int, str))
    }
    if isinstance(error, SystemExit) and error.code != SystemExit(*error.args).code:
        attributes["code"] = _plain(error.code)
    return {"args": [*map(_plain, error.args[:_MOST])], "attributes": attributes}


def again(fault: wire.Fault, names: wire.WireNames | None = None) -> BaseException:
    """Return the stop that *fault* tells of, with its origins; or the library's error."""
    if names is not None and len(fault) <= _STOP:
        return names.again(fault)
    name, message, origins, known = fault
    kind = wire.class_of(name) or _unknown(name)
    try:
        error = kind.__new__(kind)
    except Exception:  # noqa: BLE001 - a class that wants to be made in its own way
        error = _unknown(name)()
    error.args = tuple(known["args"])
    if isinstance(error, SystemExit):
        SystemExit.__init__(error, *error.args)
    for attribute, value in known["attributes"].items():
        with suppress(Exception):  # it may have a class that keeps others out
            setattr(error, attribute, value)
    return wire.linked(error, name, message, origins)


def _unknown(name: str) -> type[BaseException]:
    """Return a class like the one called *name*, which this process has not."""
    words = name.split(".")
    ends = [end for end in range(len(words)) if ".".join(words[:end]) in sys.modules]
    end = ends[-1] if ends else len(words) - 1
    module, qualname = ".".join(words[:end]), ".".join(words[end:])
    told = {"__module__": module or "builtins", "__qualname__": qualname}
    return type(words[-1], (BaseException,), told)


def leaves(fault: wire.Fault | None) -> bool:
    """Tell whether *fault* is a stop that left its loop."""
    return fault is not None and len(fault) > _STOP and fault[_STOP]["place"] != _CALL


async def leave(fault: wire.Fault, around: Around | None) -> None:
    """Let the stop *fault* leave the loop, and wait to be cancelled with all tasks."""
    loop = _running_loop()
    if loop is None:  # a loop of another library
        return
    if around is not None:
        await around.others()
    ends: Any = loop.create_future()
    handler = _runner_handler() if fault[_STOP]["place"] == _RUNNER else None
    if handler is None:
        handle: Any = loop.call_soon(ends.cancelled)
        handle.__class__ = _leaving(type(handle), again(fault), ends)
    elif not _interrupts():  # another call may have been told of the same Ctrl-C
        handler(2, None)
    await ends


def _leaving(handle: Any, stop: BaseException, ends: Any) -> Any:
    """Return the class of a callback whose error is the loop's, whatever it is."""

    class Leaving(handle):  # type: ignore[misc]  # loaded late
        __slots__ = ()

        def _run(self) -> None:
            if not ends.done():  # or another call's stop has left it already
                raise stop

    return Leaving


def _runner_handler() -> Any:
    """Return how an `asyncio.Runner` handles Ctrl-C for this loop; None if none does."""
    import asyncio  # noqa: PLC0415 - the program has it, if it comes here
    import signal  # noqa: PLC0415 - as above

    handler: Any = signal.getsignal(signal.SIGINT)
    runner: Any = getattr(getattr(handler, "func", None), "__self__", None)
    with suppress(RuntimeError):  # no loop of asyncio runs
        if getattr(runner, "_loop", None) is asyncio.get_running_loop():
            return handler
    return None


def _running_loop() -> Any:
    # Another thread may be loading asyncio at this moment: then it has few names.
    find = getattr(sys.modules.get("asyncio"), "get_running_loop", None)
    with suppress(RuntimeError):
        return None if find is None else find()
    return None


def _interrupts() -> int:
    """Return how many times Ctrl-C was pressed in the runner of this loop."""
    if "asyncio" not in sys.modules:
        return 0
    handler = _runner_handler()
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    count = getattr(runner, "_interrupt_count", 0)
    return count if isinstance(count, int) else 0


def _is_stop(error: BaseException) -> bool:
    known = isinstance(error, (Exception, GeneratorExit)) or is_cancelled(error)
    return not known


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    """Yield *error* and what was handled when it was raised."""
    for _ in range(_MOST):
        if error is None:
            return
        yield error
        error = error.__context__


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, float, int, str):
        return value
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever the program's class raises
        return f"<{type(value).__name__}>"

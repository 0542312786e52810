"""Errors and stops of a program, as its side tells them (`inside.wire`, `inside.stops`).

    ["httpx.ReadTimeout", "timed out", [["cause", "TimeoutError", …]]]
    {"name": "SystemExit", "message": "143", "args": [143], …}

Rule: a program may tell texts that no record can have: with lone surrogates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, replace
from typing import TYPE_CHECKING, Any, cast

from muniment_plugins.providers.clients.received import ErrorOrigin, Fault, StopMadeOf
from muniment_plugins.providers.recorder.inside import stops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muniment.errors import EffectFailed
    from muniment_plugins.providers.clients.flow import Flow

__all__ = [
    "fault_of",
    "fault_told",
    "interrupt",
    "raise_for_status",
    "stop_of",
    "stopped",
    "writable",
]


def fault_of(told: Sequence[Any]) -> Fault:
    """Return the error that a program told of."""
    name, message, *rest = told
    origins = tuple(map(_origin, rest[0] if rest else ()))
    return Fault(writable(name), writable(message), origins=origins)


def fault_told(fault: Fault) -> list[object]:
    """Return *fault* as a program is told of it."""
    behind: list[object] = [[*astuple(one)] for one in fault.origins]
    told: list[object] = [fault.name, fault.message, behind]
    return told if fault.stop is None else [*told, asdict(fault.stop)]


def stop_of(fault: Fault) -> BaseException:
    """Return what stopped the program, to be raised again."""
    return stops.again(tuple(fault_told(fault)))


def stopped(flow: Flow, error: BaseException, *, on_loop: bool) -> None:
    """Record that *error* stopped the program in its call.

    On a loop, tasks that are cancelled or forgotten come to the same end in a replay.
    """
    comes_again = stops.is_cancelled(error) or isinstance(error, GeneratorExit)
    told = stops.told(error)
    if on_loop and comes_again:
        del told["place"]
    interrupt(flow, told)


def interrupt(flow: Flow, told: Mapping[str, Any]) -> None:
    """Record that the program was stopped in its call, by what it *told*."""
    if "place" not in told:  # it comes again by itself
        flow.interrupt(message=writable(told["message"]))
        return
    fault = fault_of([told["name"], told["message"], told["origins"]])
    made_of = _writable(told["args"]), _writable(told["attributes"])
    stop = StopMadeOf(*made_of, writable(told["place"]))
    flow.interrupt(replace(fault, stop=stop))


def raise_for_status(check: Callable[[], Any], failure: EffectFailed) -> Any:
    """Let the error of a status name the failed effect as its cause."""
    try:
        return check()
    except Exception as error:
        raise error from failure


def writable(value: object) -> str:
    """Return *value* as a text that can be written: without lone surrogates."""
    return str(value).encode("utf-8", "replace").decode()


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return {writable(name): _writable(one) for name, one in named.items()}
    return tuple(map(_writable, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _origin(told: Sequence[Any]) -> ErrorOrigin:
    relation, name, message, number, said = told
    known = None if number is None else int(number)
    text = None if said is None else writable(said)
    return ErrorOrigin(
        writable(relation), writable(name), writable(message), known, text
    )

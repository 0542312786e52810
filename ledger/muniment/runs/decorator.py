"""Functions whose calls are effects of the current run.

    tool.requested   request: {"name": "search", "arguments": {"query": "…"}}

Rules: the request holds the function's name and the arguments of the call, with defaults
filled in. Outside a run such a call is refused, since nothing would record it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar, cast

from muniment.runs.run import current_run

__all__ = ["effect"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


def effect(kind: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Make calls of a function effects of the current run.

    The request is ``{"name": …, "arguments": {…}}`` with defaults filled in. Coroutine
    functions are awaited. Outside a run such a call is refused, since nothing would
    record it; the plain function stays reachable as ``function.__wrapped__``.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        signature = inspect.signature(function)

        def request(*args: _P.args, **kwargs: _P.kwargs) -> dict[str, object]:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return {"name": function.__qualname__, "arguments": dict(bound.arguments)}

        def perform(asked: object) -> object:
            arguments = cast("dict[str, dict[str, object]]", asked)["arguments"]
            return _call(function, signature, arguments)

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            lane = current_run()
            return cast("_T", lane.effect(kind, request(*args, **kwargs), perform))

        @functools.wraps(function)
        async def acall(*args: _P.args, **kwargs: _P.kwargs) -> object:
            lane = current_run()
            return await lane.aeffect(kind, request(*args, **kwargs), perform)

        if inspect.iscoroutinefunction(function):
            return cast("Callable[_P, _T]", acall)
        return call

    return decorate


def _call(
    function: Callable[..., object],
    signature: inspect.Signature,
    arguments: Mapping[str, object],
) -> object:
    bound = inspect.BoundArguments(signature, dict(arguments))
    return function(*bound.args, **bound.kwargs)

"""Calling one handler in this process, and what it returned as a record can have it.

Rule: each call has a copy of the context; what a handler sets in it, no other one sees.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import cast

from muniment.programs.awaiting import awaited
from muniment.programs.references import Function, plain
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.runtime.artifact_rows import row_of
from muniment_plugins.workflow.runtime.own_context import apart
from muniment_plugins.workflow.runtime.stage_input import StageInput

__all__ = ["called", "called_later", "is_coroutine_function", "written"]


def is_coroutine_function(function: Function) -> bool:
    """Tell whether *function* is awaited: it, or its call if it is an object."""
    found = plain(function)
    if isinstance(found, FunctionType):
        return inspect.iscoroutinefunction(found)
    call = getattr(found, "__call__", None)  # noqa: B004 - the method is inspected
    return inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(call)


def called(function: Function, given: StageInput) -> object:
    """Return what *function* returns for *given*, once it is awaited if it must be."""
    value = apart(plain(function), given)
    if inspect.isawaitable(value):
        return _written_later(value)
    return written(value)


async def called_later(function: Function, given: StageInput) -> object:
    """Return what the coroutine *function* returns for *given*."""
    return written(await awaited(apart(plain(function), given)))


async def _written_later(value: object) -> object:
    return written(await awaited(value))


def written(value: object) -> object:
    """Return what a handler returned as a value that a record can have."""
    if isinstance(value, Artifact):
        return {"_type": "artifact", **row_of(value)}
    if isinstance(value, list | tuple):
        return [written(one) for one in cast("list[object]", value)]
    return value

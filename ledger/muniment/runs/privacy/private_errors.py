"""Errors that say something private, wherever they come to in this process.

    keep_error(error)
    said_of(error, str(error))      '(private)'

Rules:

- An error that came out of a private lane is marked; whoever words it for people asks here,
  of one that ends the process, too.
- One that was worded without what is private (`MunimentError.is_discreet`) says nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import cast

from muniment.errors import origins
from muniment.events.visibility import INSTEAD

__all__ = ["keep_error", "said_of", "says_private"]

_IS_PRIVATE = "__muniment_private__"
"""The attribute of an error that came out of a private lane."""


def keep_error(error: BaseException) -> None:
    """Keep private what *error* says, whoever says it again."""
    with suppress(Exception):  # a foreign ``__setattr__``
        setattr(error, _IS_PRIVATE, True)


def says_private(
    error: BaseException | None,
    known: Callable[[BaseException], bool] = lambda _: False,
) -> bool:
    """Tell whether *error*, or what it comes from, says something private.

    Args:
        error: the error; None says nothing.
        known: whether an error is known to be private though it is not marked.

    """
    for one in origins(error):
        if getattr(one, "is_discreet", False) is True:
            return False
        if getattr(one, _IS_PRIVATE, False) is True or known(one):
            return True
        if isinstance(one, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", one)
            return any(says_private(part, known) for part in group.exceptions)
    return False


def said_of(error: BaseException, said: object) -> str:
    """Return what is *said* of *error*, if it says nothing private."""
    return INSTEAD if says_private(error) else str(said)

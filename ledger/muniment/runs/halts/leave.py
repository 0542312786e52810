"""What a plugin says that is asked for leave, and fails: a plugin that fails refuses."""

from __future__ import annotations

from collections.abc import Awaitable

from muniment.errors import (
    RefusedError,
    RunFenced,
    StoreError,
    printable,
)

__all__ = ["awaited", "refusal_of"]


async def awaited(answer: Awaitable[object]) -> object:
    """Await what a plugin says; an error that it raises is a refusal that says so."""
    try:
        return await answer
    except Exception as error:  # noqa: BLE001 - a policy that fails must refuse
        return refusal_of(error)


def refusal_of(error: Exception) -> str:
    """Return why an effect may not happen, from the *error* that a plugin raised.

    Raises:
        MunimentError: *error*, if it is the ledger's and not the plugin's.

    """
    if isinstance(error, (RunFenced, StoreError)):
        raise error
    if isinstance(error, RefusedError):
        return error.message
    return f"it failed with {type(error).__name__}: {printable(error)}"

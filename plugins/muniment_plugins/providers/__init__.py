"""Where completions come from, and HTTP clients that record those of existing SDKs.

    openai.OpenAI(http_client=http_client(run))      every call is an effect of the run
    complete(run, "anthropic:claude-…", "Say hi.")   the same, with code of our own

A request is matched by its content, an answer is recorded whole, and no key reaches the
ledger. This module is what the plugin manager loads: it offers the hooks and knows its
parts by name only, so that importing it costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muniment.kinds import EffectKind
    from muniment_plugins.providers.transport import async_http_client, http_client

__all__ = ["async_http_client", "effect_kinds", "http_client"]

# The kernel's own marker is equal, but importing it would bring the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

_PLACES = {
    "async_http_client": "transport",
    "http_client": "transport",
}


def __getattr__(name: str) -> Any:
    """Load the public names when they are first asked for (PEP 562)."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - lazy is the point

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


@hookimpl
def effect_kinds() -> Iterable[EffectKind]:
    """Add the kind of requests that are no model calls."""
    from muniment_plugins.providers.vocabulary import KINDS  # noqa: PLC0415 - lazy

    return KINDS

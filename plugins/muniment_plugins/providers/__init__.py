"""Where completions come from, and HTTP clients that record those of existing SDKs.

    openai.OpenAI(http_client=http_client(run))      every call is an effect of the run
    complete(run, "anthropic:claude-…", "Say hi.")   the same, with code of our own

A request is matched by its content, an answer is recorded whole, and no key reaches the
ledger. This module is what the plugin manager loads: it offers the hooks and knows its
parts by name only, so that importing it costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from muniment.events.effect_kinds import EffectKind
    from muniment.events.types import EventType
    from muniment.ledger import Ledger
    from muniment.programs.stable_names import StableName
    from muniment.runs.run import Run
    from muniment_plugins.providers.clients.transport import (
        async_http_client,
        http_client,
    )
    from muniment_plugins.providers.clients.unsearched import UnsearchedWarning
    from muniment_plugins.providers.completion import acomplete, complete
    from muniment_plugins.providers.prompt import Answer, ToolCall
    from muniment_plugins.providers.refusals import CompletionFailed
    from muniment_plugins.providers.scripted import Scripted
    from muniment_plugins.providers.secrets.redaction import Redaction
    from muniment_plugins.providers.tool_servers import tool_server

__all__ = [
    "Answer",
    "CompletionFailed",
    "Redaction",
    "Scripted",
    "ToolCall",
    "UnsearchedWarning",
    "acomplete",
    "async_http_client",
    "complete",
    "complete_prompt",
    "effect_kinds",
    "event_types",
    "hide_secrets",
    "http_client",
    "rebuild_program",
    "stable_names",
    "tool_server",
]

# The kernel's own marker is equal, but importing it would bring the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "Answer": ".prompt",
        "CompletionFailed": ".refusals",
        "Redaction": ".secrets.redaction",
        "Scripted": ".scripted",
        "ToolCall": ".prompt",
        "UnsearchedWarning": ".clients.unsearched",
        "acomplete": ".completion",
        "async_http_client": ".clients.transport",
        "complete": ".completion",
        "http_client": ".clients.transport",
        "tool_server": ".tool_servers",
    },
)


@hookimpl
def effect_kinds() -> Iterable[EffectKind]:
    """Add the kind of requests that are not model calls."""
    from muniment_plugins.providers.vocabulary import KINDS  # noqa: PLC0415 - lazy

    return KINDS


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add the attempts of a completion to the vocabulary."""
    from muniment_plugins.providers.vocabulary import TYPES  # noqa: PLC0415 - lazy

    return TYPES


@hookimpl
def hide_secrets(text: str) -> str:
    """Take keys in URLs, values of secret variables and known keys out of errors."""
    from muniment_plugins.providers.secrets.error_texts import (  # noqa: PLC0415 - lazy
        without_secrets,
    )

    return without_secrets(text)


@hookimpl
def complete_prompt(
    run: Run, request: Mapping[str, object]
) -> dict[str, object] | None:
    """Answer for ``openai:``, ``anthropic:``, ``llm:`` and ``scripted:``.

    *request* has ``model`` and ``prompt`` or ``messages``, and may have ``system``,
    ``tools``, ``temperature``, ``max_tokens`` and the other members of a `Prompt`.
    """
    from muniment_plugins.providers.completion import answer  # noqa: PLC0415 - lazy

    return answer(run, request)


@hookimpl
def stable_names() -> Iterable[StableName]:
    """Name the program that `muniment record` runs."""
    from muniment_plugins.providers.declared_names import NAMES  # noqa: PLC0415 - lazy

    return NAMES


@hookimpl
def rebuild_program(ledger: Ledger, run: str) -> Callable[..., object] | None:
    """Make a recorded program from its events; None for every other run.

    It has to be told its command line (``commanded``): what stands in a ledger is never
    executed.
    """
    from muniment_plugins.providers.recorder.rebuild import (  # noqa: PLC0415 - lazy
        rebuild,
    )

    return rebuild(ledger, run)

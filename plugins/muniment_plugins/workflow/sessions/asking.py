"""Asking for texts that a compaction needs: a model's summary, or what a function makes.

Rules: each is an effect, so a replay asks nobody; a policy that names nobody to ask is
refused before anything is written; a summary that a model did not finish is none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, cast

from muniment.errors import UsageError
from muniment.programs.awaiting import settled
from muniment.runs.waits.stand_ins import AnswerableRequest, completion
from muniment_plugins.workflow.documents.compaction_shape import CALLBACKS
from muniment_plugins.workflow.runtime.half_answers import cut_short
from muniment_plugins.workflow.runtime.providers import asked_provider
from muniment_plugins.workflow.sessions.messages import visible_text
from muniment_plugins.workflow.sessions.policies import CompactPolicy

__all__ = ["Effects", "asked_text", "require_askable"]

Effects: TypeAlias = Callable[
    [str, object, Callable[[object], object]], Awaitable[object]
]
"""Performs an effect: kind, request, performer."""
_PROMPT = (
    "Summarise the conversation below for somebody who goes on with it. Keep goals, "
    "decisions, names, paths, numbers and open questions exactly; leave out the rest. "
    "Answer with the summary only."
)


def require_askable(policy: CompactPolicy) -> None:
    """Refuse a *policy* that asks nobody in particular.

    Raises:
        UsageError: it does.

    """
    if "llm" in policy.strategies and policy.summarize_model is None:
        raise UsageError(
            "the strategy llm needs a model that writes the summary",
            rule="session/strategy",
            place="summarize_model",
            remedy="name one, such as openai:gpt-…; or write hard_limit_strategy or "
            "compact_strategy truncate",
        )

    for name in CALLBACKS:
        if isinstance(getattr(policy, name), str):
            raise UsageError(
                "a path names a function in a document only",
                rule="session/strategy",
                place=name,
                remedy="give the function itself",
            )


async def asked_text(
    policy: CompactPolicy, effect: Effects, what: str, given: object
) -> str | None:
    """Return the text that *policy* gets *what* from, of what is *given*.

    None where the model did not finish its summary, or refused.

    Raises:
        EffectFailed: it failed.
        UsageError: it gave no text.

    """
    if what == "llm":
        messages = cast("list[Mapping[str, Any]]", given)
        request = {"model": policy.summarize_model, "prompt": _prompt(policy, messages)}
        answer = await effect(
            "llm", AnswerableRequest(request, completion), asked_provider
        )
        if cut_short(answer) is not None:
            return None
        return _text(cast("Mapping[str, object]", answer).get("text"), "the model")
    name = "custom_compactor" if what == "custom" else what
    function = cast("Callable[[object], object]", getattr(policy, name))
    called = getattr(function, "__qualname__", type(function).__qualname__)
    call: dict[str, object] = {"function": called, "for": name, "given": given}
    return _text(await effect("compaction", call, partial(_called, function)), called)


def _prompt(policy: CompactPolicy, messages: list[Mapping[str, Any]]) -> str:
    lines = [f"{one.get('role')}: {visible_text(one)}" for one in messages]
    asked = policy.summarize_prompt or _PROMPT
    return f"{asked}\n\n<conversation>\n" + "\n".join(lines) + "\n</conversation>"


def _called(function: Callable[[object], object], request: object) -> object:
    return settled(function(cast("Mapping[str, object]", request)["given"]))


def _text(value: object, whose: str) -> str:
    if not isinstance(value, str):
        raise UsageError(
            f"{whose} gave no text, but a {type(value).__name__}",
            rule="session/summary",
            place=whose,
            remedy="return a text",
        )
    return value

"""Asking a model: the effect around it, and which provider answers.

    answer = complete(run, "openai:gpt-…", "Say hi.")
    answer.text, answer.tool_calls, answer.usage, answer.cost

Rules:

- A completion is an effect of kind ``llm``. The hook ``complete_prompt`` is called inside
  it, so that a provider's facts belong to the effect and a replay asks nobody.
- The part of the model's name before the colon names the provider. A name that no
  provider here knows is left to other plugins.
- Prompts are recorded without secrets, and sent as they were recorded: the record says
  what the model was told. A secret anywhere else, such as in options, is refused, since
  what is meant could not be sent.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from muniment.errors import CannotTellError, UsageError
from muniment.runs.lanes.listening import LISTENER, Listener, Receiver
from muniment.runs.run import Run
from muniment.runs.waits.stand_ins import AnswerableRequest, completion
from muniment_plugins.providers import llm_bridge, scripted, servers
from muniment_plugins.providers.prompt import Answer, Prompt, split
from muniment_plugins.providers.secrets.redaction import Redaction
from muniment_plugins.providers.stream_listener import Ear

__all__ = ["acomplete", "answer", "complete"]

_KNOWN = " ".join(f"{one}:" for one in (*servers.SERVERS, "llm", "scripted"))

_TOLD = frozenset({"prompt", "messages", "system"})
"""What the model is told: there a secret is replaced."""

Tell = Callable[[str], object]


def answer(lane: Run, request: Mapping[str, object]) -> dict[str, object] | None:
    """Answer the hook: ask the provider that *request* names; None if not ours."""
    provider, name = split(request.get("model"))
    if provider in servers.SERVERS:
        ear = Ear(LISTENER.get())
        return servers.ask(lane, provider, Prompt.of(request), ear)
    if provider == "scripted" and name:
        return scripted.ask(lane.id, Prompt.of(request))
    if provider == "llm":
        return llm_bridge.ask(Prompt.of(request))
    return None


def complete(
    run: Run,
    model: str,
    prompt: str | list[dict[str, Any]],
    *,
    on_text: Tell | None = None,
    **more: Any,
) -> Answer:
    """Ask *model*, as an effect of *run*.

    Args:
        run: a run, or a lane of it.
        model: ``provider:name``.
        prompt: a text, or the messages of a conversation.
        on_text: gets the text as it arrives, if ``stream=True``; nothing in a replay.
        more: further members of the prompt, such as ``tools`` or ``max_tokens``.

    Raises:
        EffectFailed: there was no completion, now or when it was recorded.
        UsageError: the prompt has an unknown member, a secret stands outside of what the
            model is told, or *on_text* cannot listen.

    """
    request, heard = _request(model, prompt, more), _listener(run, on_text)

    def perform(asked: object) -> object:
        token = LISTENER.set(heard)
        try:
            return _hooked(run, cast("Mapping[str, object]", asked))
        finally:
            LISTENER.reset(token)

    return _answer(
        run.effect("llm", AnswerableRequest(request, completion), perform), heard
    )


async def acomplete(
    run: Run,
    model: str,
    prompt: str | list[dict[str, Any]],
    *,
    on_text: Tell | None = None,
    **more: Any,
) -> Answer:
    """Do as `complete` does, awaited; a cancellation stops the request.

    For models of other plugins, the hook is called in a thread.
    """
    request, heard = _request(model, prompt, more), _listener(run, on_text)
    provider, _ = split(model)

    async def perform(asked: object) -> object:
        told = cast("Mapping[str, object]", asked)
        if provider in servers.SERVERS:
            ear = Ear(heard)
            return await servers.aask(run, provider, Prompt.of(told), ear)
        LISTENER.set(heard)
        return await asyncio.to_thread(_hooked, run, told)

    told = await run.aeffect("llm", AnswerableRequest(request, completion), perform)
    return _answer(told, heard)


def _hooked(run: Run, request: Mapping[str, object]) -> object:
    """Return what the first provider answers.

    Raises:
        CannotTellError: no provider answers for the model.

    """
    try:
        return run.hook("complete_prompt", request=request)
    except CannotTellError as error:
        if error.rule != "plugin/unanswered":
            raise
        raise CannotTellError(
            "no provider answers for this model",
            rule="provider/model",
            place=str(request["model"]),
            remedy=f"begin it with one of {_KNOWN}, or activate the plugin that does",
        ) from error


def _request(model: str, prompt: object, more: Mapping[str, Any]) -> dict[str, object]:
    asked = {"prompt" if isinstance(prompt, str) else "messages": prompt}
    request = {"model": model, **asked, **more}
    Prompt.of(request)  # a wrong prompt is refused before anything is asked
    keys = (os.environ.get(one.key_variable) for one in servers.SERVERS.values())
    redaction = Redaction.knowing(*keys)
    hidden = cast("dict[str, object]", redaction.value(request))
    for name, value in request.items():
        if name not in _TOLD and _said(hidden[name]) != _said(value):
            raise UsageError(
                "it holds a secret, which is not recorded, and would be sent as recorded",
                rule="provider/secret",
                place=name,
                remedy="leave it out; keys of providers are read from the environment",
            )
    return hidden


def _said(value: object) -> str:
    return json.dumps(value, default=repr)  # lists and tuples are alike


def _listener(run: Run, on_text: Tell | None) -> Listener:
    """Return who hears one answer in *run*."""
    if on_text is None:
        return Listener(None)
    receiver = Receiver.of(on_text, "on_text", ("text",))
    return Listener(receiver if run.performs else None)


def _answer(told: object, heard: Listener) -> Answer:
    found = Answer.from_json(cast("Mapping[str, Any]", told))
    heard.whole(found.text)
    return found

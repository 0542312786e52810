"""The models of the ``llm`` package and its plugins.

    llm:gpt-4o-mini     whatever `llm models` lists

Rules: keys are those that ``llm`` keeps itself, and it logs nothing of what is asked
here. Retries are its own affair, so there is one attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.errors import UsageError, printable
from muniment_plugins.providers.prices import cost
from muniment_plugins.providers.prompt import Answer, Prompt, ToolCall
from muniment_plugins.providers.refusals import CompletionFailed, missing
from muniment_plugins.providers.secrets.redaction import Redaction

__all__ = ["ask"]

_LACKS = ("tool_choice", "base_url")


def ask(prompt: Prompt) -> dict[str, object]:
    """Ask the model that ``llm`` knows by the prompt's name.

    Raises:
        CompletionFailed: it failed.
        UsageError: the package or the model is missing, or the prompt does not fit.

    """
    try:
        import llm  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("llm", "llm") from None
    try:
        model: Any = llm.get_model(prompt.model)
    except llm.UnknownModelError:
        raise UsageError(
            f"llm knows no model {prompt.model!r}",
            rule="provider/model",
            place=f"llm:{prompt.model}",
            remedy="see `llm models`; other providers come by `llm install`",
        ) from None
    told = _refuse_unknown(prompt)
    try:
        response = model.prompt(
            messages=_messages(prompt),
            tools=[
                llm.Tool(
                    one["name"], one.get("description"), one.get("parameters") or {}
                )
                for one in prompt.tools
            ],
            stream=prompt.stream,
            options=told,
        )
        return _answer(prompt, response)
    except Exception as error:  # noqa: BLE001 - those of any plugin of llm
        # Raised after this block, so that a key in its text is in no error's context.
        failure = _failed(prompt, model, error)
    raise failure


def _failed(prompt: Prompt, model: Any, error: Exception) -> CompletionFailed:
    key = getattr(model, "key", None)
    redaction = Redaction.knowing(key if isinstance(key, str) else None)
    text = redaction.text(printable(error))
    return CompletionFailed(
        f"{type(error).__name__}: {text}",
        place=f"llm:{prompt.model}",
        remedy="a resume of the run asks again",
    )


def _refuse_unknown(prompt: Prompt) -> dict[str, object]:
    for name in _LACKS:
        if getattr(prompt, name):
            raise UsageError(
                f"llm has no {name}",
                rule="provider/prompt",
                place=f"prompt.{name}",
                remedy="leave it out",
            )
    named = {
        "temperature": prompt.temperature,
        "max_tokens": prompt.max_tokens,
        "seed": prompt.seed,
        "stop": "\n".join(prompt.stop) or None,
    }
    given = {name: value for name, value in named.items() if value is not None}
    return {**given, **prompt.options}


def _messages(prompt: Prompt) -> list[Any]:
    from llm import Message  # noqa: PLC0415 - an extra
    from llm.parts import TextPart, ToolCallPart, ToolResultPart  # noqa: PLC0415

    names: dict[str, str] = {}

    def parts(message: Mapping[str, Any]) -> list[Any]:
        content = message.get("content") or ""
        if message["role"] == "tool":
            call = message["tool_call_id"]
            name = names.get(call, "")
            return [ToolResultPart(name=name, output=content, tool_call_id=call)]
        found: list[Any] = [TextPart(text=content)] if content else []
        for one in message.get("tool_calls", ()):
            names[one["id"]] = one["name"]
            found.append(
                ToolCallPart(
                    name=one["name"], arguments=one["arguments"], tool_call_id=one["id"]
                )
            )
        return found

    system = [{"role": "system", "content": prompt.system}] if prompt.system else []
    return [Message(one["role"], parts(one)) for one in (*system, *prompt.messages)]


def _answer(prompt: Prompt, response: Any) -> dict[str, object]:
    text = response.text()
    calls = tuple(
        ToolCall(one.tool_call_id or "", one.name, one.arguments)
        for one in response.tool_calls()
    )
    counted = response.usage()
    named = {"input_tokens": counted.input, "output_tokens": counted.output}
    usage = {name: count for name, count in named.items() if count is not None}
    model = getattr(response, "resolved_model", None) or prompt.model
    return Answer(
        text,
        calls,
        "tool_calls" if calls else "",  # it does not say why an answer ended
        usage,
        model,
        "",
        "llm",
        cost("", model, usage),
    ).to_json()

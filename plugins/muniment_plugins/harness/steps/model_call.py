"""How a model is asked, and what is recorded, whichever model answers.

    "openai:gpt-4o"                 the plugins, by the hook ``complete_prompt``
    lambda claim, spec, ctx: …      any callable, coroutine functions included

    llm.requested {"llm": {"import": "…"}, "claim": {…}, "spec": {…}, "attempt": 1}
    llm.completed {"text": "…", "digest": "sha256:…", "calls": [{…}], "model": "…"}

Rules:

- No model is asked for code that could not receive the data.
- One question is one effect of kind ``llm``; what a provider does for it (attempts,
  streams) is recorded inside.
- Request, answer, its digest and its duration are recorded as the harness sees them;
  ``calls`` has what a callable reports besides its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.encoding.canonical import sha256_tag
from muniment.errors import CannotTellError
from muniment.programs.references import Function, Named, Remembered, named, refer
from muniment.runs.waits.stand_ins import (
    AnswerableRequest,
    Misfit,
    Reads,
    completion,
    members,
)
from muniment_plugins.harness.case import Case
from muniment_plugins.harness.data_packages import refuse_foreign
from muniment_plugins.harness.functions.hosts import settled
from muniment_plugins.harness.functions.recorded_functions import Sources
from muniment_plugins.harness.refusals import (
    HarnessRefused,
    ModelRefused,
    telling,
)
from muniment_plugins.harness.steps.prompts import Message
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = [
    "Llm",
    "Model",
    "Provider",
    "Question",
    "ask",
    "describe_model",
    "model",
    "recall_model",
]

Llm = Function | str
"""A model as users give it: a callable, or the name of a provider and a model."""

_QUOTED = 300
"""Characters of a refusal that an error quotes; the answer has all of it."""
_METADATA = {"llm_call", "llm_calls"}


@dataclass(frozen=True, slots=True)
class Provider:
    """A model that a plugin reaches."""

    provider: str
    model: str

    @classmethod
    def of(cls, name: str, place: str = "") -> Provider:
        """Return the model that ``provider:model`` names, or refuse."""
        provider, colon, model_name = name.partition(":")
        if not provider or not colon:
            raise HarnessRefused(
                f"{name!r} names no model",
                rule="harness/llm",
                place=place,
                remedy='write "provider:model", or give a callable',
            )
        return cls(provider, model_name)


Model = Named | Remembered | Provider


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a model, in each form in which it can be asked."""

    messages: list[Message]
    """What a provider gets."""
    recorded: Mapping[str, object]
    """The record of the request to a callable."""
    arguments: tuple[object, ...]
    """What a callable gets."""
    shape: Callable[[object], object]
    """Turns a callable's answer into its recorded form, or refuses it."""


def model(llm: Llm, place: str) -> Model:
    """Return *llm* as steps keep it, or refuse it at *place*."""
    if not isinstance(llm, str) and not callable(llm):
        raise HarnessRefused(
            f"{llm!r} is not a model",
            rule="harness/llm",
            place=place,
            remedy='write "provider:model", or give a callable (claim, spec, ctx)',
        )
    return Provider.of(llm, place) if isinstance(llm, str) else named(llm)


def describe_model(asked: Model) -> dict[str, object]:
    """Return how a plan names a model."""
    if isinstance(asked, Provider):
        return {"model": f"{asked.provider}:{asked.model}"}
    return refer(asked)


def recall_model(described: Mapping[str, object], sources: Sources) -> Model:
    """Return the model that a plan names; it is never made from recorded source."""
    if "model" in described:
        return Provider.of(cast("str", described["model"]))
    return sources.imported.remembered(described)


def ask(
    asked: Model,
    case: Case,
    around: Surroundings,
    question: Question,
) -> object:
    """Return the model's answer: the text of a provider, or a callable's answer.

    Raises:
        ModelRefused: the provider says that the model refused.

    """
    if isinstance(asked, Provider):
        request = {**describe_model(asked), "messages": list(question.messages)}
        asking = AnswerableRequest(request, completion)
        answer = around.effect("llm", asking, perform=_payable(case, _complete))
        return _unrefused(cast("Mapping[str, object]", answer), request["model"])
    request = {"llm": describe_model(asked), **question.recorded}
    perform = _payable(case, _calling(asked, case, question))
    answer = around.effect(
        "llm", AnswerableRequest(request, _read_by(question)), perform=perform
    )
    return cast("Mapping[str, object]", answer)["answer"]


def _read_by(question: Question) -> Reads:
    """Return how an answer is read that stands for a callable's to *question*."""

    def read(value: object) -> object:
        said = members(value)
        try:
            answer = question.shape(said.get("answer", "" if value is None else value))
        except HarnessRefused as refused:
            raise Misfit(refused.message) from refused
        return {"calls": [], **(said if "answer" in said else {}), "answer": answer}

    return read


def _unrefused(answer: Mapping[str, object], asked: object) -> object:
    """Return the text of an *answer*.

    Raises:
        ModelRefused: the model says that it refused.

    """
    refusal = answer.get("refusal")
    if not isinstance(refusal, str):
        return answer["text"]
    said = " ".join(refusal.split())
    words = f": {said[:_QUOTED]}{'…' if len(said) > _QUOTED else ''}" if said else ""
    refused = ModelRefused(
        f"the model refused{words}",
        rule="harness/llm-refused",
        place=str(asked),
        remedy="ask for something that it does not refuse, or ask another model",
    )
    refused.text = str(answer["text"])
    raise refused


def _payable(
    case: Case, perform: Callable[[object], object]
) -> Callable[[object], object]:
    """Return *perform* behind a check that code under the spec can receive the data."""

    def ask_model(request: object) -> object:
        if case.spec is not None:
            refuse_foreign(case.data, case.spec)
        return perform(request)

    return telling(ask_model)


def _complete(request: object) -> dict[str, object]:
    asked = cast("Mapping[str, object]", request)
    given = settled(_hooked(asked))
    answer = cast("Mapping[str, object]", given)
    text = answer.get("text") if isinstance(given, Mapping) else None
    if not isinstance(text, str):
        raise HarnessRefused(
            f"{asked['model']} answered without a text",
            rule="harness/llm",
            remedy="ask for a completion in words",
        )
    return {**answer, "digest": _digest(text)}


def _hooked(request: Mapping[str, object]) -> object:
    try:
        return here().hook("complete_prompt", request=request)
    except CannotTellError as error:
        if error.rule != "plugin/unanswered":
            raise
        raise CannotTellError(
            "no provider answers for this model",
            rule="harness/llm",
            place=str(request["model"]),
            remedy="see the part before the colon, and `muniment plugins`",
        ) from error


def _calling(
    function: Function, case: Case, question: Question
) -> Callable[[object], object]:
    def call(request: object) -> dict[str, object]:
        del request
        given = case.host.call(function, *question.arguments)
        told: Mapping[str, object] = {}
        if isinstance(given, tuple):
            given, told = _with_metadata(cast("tuple[object, ...]", given))
        answer = question.shape(given)
        calls = _calls(told)
        seen = {"digest": _digest(answer)} if isinstance(answer, str) else {}
        return {"answer": answer, **seen, "calls": calls, **_reported(calls)}

    return call


def _with_metadata(
    answer: tuple[object, ...],
) -> tuple[object, Mapping[str, object]]:
    if len(answer) != 2 or not isinstance(answer[1], Mapping):  # noqa: PLR2004 - a pair
        raise HarnessRefused(
            f"the model's callable returned a tuple of {len(answer)}",
            rule="harness/llm",
            remedy='return the answer, or (answer, {"llm_call": {…}})',
        )
    return answer[0], cast("Mapping[str, object]", answer[1])


def _calls(told: Mapping[str, object]) -> list[object]:
    unknown = sorted(told.keys() - _METADATA)
    if unknown:
        raise HarnessRefused(
            f"{', '.join(unknown)} means nothing beside the answer",
            rule="harness/llm",
            remedy='return (code, {"llm_call": {…}}) or (code, {"llm_calls": [{…}]})',
        )
    one = [told["llm_call"]] if "llm_call" in told else []
    return [*one, *cast("list[object]", told.get("llm_calls", []))]


def _reported(calls: list[object]) -> dict[str, object]:
    """Return model and tokens as the callable reports them for its last call."""
    last = calls[-1] if calls else None
    if not isinstance(last, Mapping):
        return {}
    members = cast("Mapping[str, object]", last)
    return {name: members[name] for name in ("model", "usage") if name in members}


def _digest(text: str) -> str:
    return sha256_tag(text.encode("utf-8", "surrogatepass"))

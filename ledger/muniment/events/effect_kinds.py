"""Effect kinds: how uncertain an effect is, its replay, and what to do in doubt.

    EffectKind("llm", source="external_oracle", magnitude="high", on_doubt="repeat")

Rules:

- *Entropy* says where the uncertainty of an answer comes from and how large it is;
  budgets count the effects of all plugins by these declarations.
- A *reproducible* effect is performed again in a replay and compared; every other one
  is only answered from the record.
- *on_doubt* decides about a request without an outcome that a resume finds: it may have
  been performed. ``repeat`` performs it again, ``refuse`` stops, ``ask`` asks whoever
  resumes. A request that *is_safe* changes nothing, however often it is made: it is
  repeated, and nobody is asked.
- Secrets in an answer are not recorded. A resume would answer something else, so it
  treats the effect as one in doubt: ``on_doubt`` says whether to perform it again. A
  kind that *names_secrets* lists in its answers the names that replace them.
- What the code of a kind reads itself, and no program, has a form: `fault` says what of a
  changed value is not of it. So a fork is refused before it begins.
- A kind named ``k`` writes the events ``k.requested``, ``k.completed``, ``k.failed``,
  and ``k.streamed`` if parts of an answer are passed on before it ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, TypeAlias, cast, get_args

from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError, UsageError
from muniment.events.token_counts import INEXACT, is_count

__all__ = [
    "KERNEL_KINDS",
    "Doubt",
    "EffectKind",
    "Magnitude",
    "Source",
    "says_error",
]

Source: TypeAlias = Literal["seeded_rng", "external_oracle", "human_input", "data"]
Magnitude: TypeAlias = Literal["low", "medium", "high"]
Doubt: TypeAlias = Literal["repeat", "refuse", "ask"]
Describe: TypeAlias = Callable[[object], Mapping[str, object]]


def _nothing(_: object) -> Mapping[str, object]:
    return {}


def _never(_: object) -> bool:
    return False


_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")


def _odd(what: str, known: str) -> UsageError:
    return UsageError(
        what,
        rule="effect/kind",
        place="EffectKind",
        remedy=f"write one such as {known}",
    )


@dataclass(frozen=True, slots=True)
class EffectKind:
    """The declaration of one kind of effect."""

    name: str
    """Lower-case words and dots: ``llm``, ``lab.reading``."""
    source: Source = "external_oracle"
    """Where the uncertainty comes from: ``seeded_rng``, ``external_oracle``,
    ``human_input`` or ``data``."""
    magnitude: Magnitude = "medium"
    """How large it is: ``low``, ``medium`` or ``high``."""
    reproducible: bool = False
    """Whether a replay performs it again, and compares; else it is answered."""
    on_doubt: Doubt = "refuse"
    """What a resume does about a request without an outcome: ``repeat``, ``refuse`` or
    ``ask``; see docs/how-to/resume.md."""
    is_safe: Callable[[object], bool] = _never
    """Tells whether a request only reads, so that doubt does no harm."""
    names_secrets: bool = False
    """Whether ``secrets`` of an answer lists the names that replace secrets in it."""
    request_model: type | None = None
    """A class that requests are validated against, as pydantic does."""
    response_model: type | None = None
    """The same for answers."""
    about_request: Describe = _nothing
    """Non-personal facts of a request to keep inline, such as the model's name."""
    about_response: Describe = _nothing
    """The same of an answer."""
    helps: tuple[str, ...] = ()
    """The paths of help for people in outcomes, such as ``value.*.remedy`` or
    ``data.remedy``: a later version may word it better, so it is not compared."""
    own: str | None = None
    """``module:Class`` of the only requests that it takes, which perform themselves: no
    program performs anything under its name. None if the caller performs."""
    fault: str | None = None
    """``module:function`` that says what is wrong with a value which a fork gives in place
    of an answer, for kinds whose own code reads it: it is called with the request and the
    value, and returns None if a performer could have answered so. None takes any value."""
    shares_key: bool = False
    """Whether effects with one request in one scope are attempts at the same, with one
    idempotency key; else each has its own."""
    dry: Callable[[object], object] | None = None
    """Answers in a dry run; without it a dry run ends at the first such effect."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise _odd(
                f"{self.name!r} is not the name of an effect kind: it has words, joined "
                "by dots, each of a-z, 0-9 and _, with a letter first",
                "`sensor`",
            )
        for what, given, known in (
            ("source", self.source, get_args(Source)),
            ("magnitude", self.magnitude, get_args(Magnitude)),
            ("on_doubt", self.on_doubt, get_args(Doubt)),
        ):
            if given not in known:
                raise _odd(f"{what} is {given!r} in {self.name!r}", ", ".join(known))

    def in_doubt(self, request: object) -> Doubt:
        """Return what to do about a *request* without an outcome."""
        return "repeat" if self.is_safe(request) else self.on_doubt

    def holds_secret(self, data: Mapping[str, JsonValue]) -> bool:
        """Tell whether the answer had secrets that its recorded *data* lacks."""
        parts = [data.get(name) for name in ("value", "data", "head")]
        return self.names_secrets and any(
            isinstance(one, dict) and bool(one.get("secrets")) for one in parts
        )

    def about_answer(self, value: object) -> dict[str, object] | None:
        """Return the inline part of an answer: its facts, and whether it had secrets."""
        about = dict(self.about_response(value))
        if self.holds_secret({"value": cast("JsonValue", value)}):
            about["secrets"] = True
        return about or None

    def check_request(self, request: object) -> None:
        """Refuse a *request* that the kind's model does not allow."""
        self._check(self.request_model, request, "request")

    def check_response(self, response: object) -> None:
        """Refuse a *response* that the kind's model does not allow."""
        self._check(self.response_model, response, "response")

    def fault_of(self, request: object, value: object) -> str | None:
        """Return what is wrong with a *value* that a fork gives as the answer to *request*."""
        if self.fault is None:
            return None
        module, _, name = self.fault.partition(":")
        judge = getattr(import_module(module), name)
        return cast("str | None", judge(request, value))

    def _check(self, model: type | None, value: object, part: str) -> None:
        if model is None:
            return
        from pydantic import (  # noqa: PLC0415 - few kinds have a model
            TypeAdapter,
            ValidationError,
        )

        try:
            TypeAdapter(model).validate_python(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            path = ".".join(str(step) for step in first["loc"])
            raise RefusedError(
                first["msg"].lower(),
                rule=f"effect/{part}",
                place=f"{self.name} {part}.{path}".rstrip("."),
                remedy=f"see the model of the kind {self.name}",
            ) from None


def _text_members(value: object, names: tuple[str, ...]) -> dict[str, object]:
    """Return the members *names* of *value* that are short texts."""
    if not isinstance(value, dict):
        return {}
    members = cast("dict[object, object]", value)
    return {
        name: member
        for name in names
        if isinstance(member := members.get(name), str) and len(member) <= 200  # noqa: PLR2004 - a name, not prose
    }


_COUNTS = (
    *("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "total_tokens"),
)


def _is_odd(count: object) -> bool:
    """Tell whether something is said that is no count: then nothing of it is relied on."""
    return count is not None and not is_count(count)


def _llm_request(request: object) -> Mapping[str, object]:
    return _text_members(request, ("model", "provider"))


def _llm_response(response: object) -> Mapping[str, object]:
    said = _text_members(response, ("model", "finish_reason"))
    about = {name: one for name, one in said.items() if one}  # what it did say
    usage, cost = _members(response, "usage"), _members(response, "cost")
    if usage is not None and not any(_is_odd(usage.get(name)) for name in _COUNTS):
        about["usage"] = {
            name: count
            for name, count in usage.items()
            if type(count) is int and count < INEXACT
        }
    if cost is not None:
        about["cost"] = _text_members(cost, tuple(cost))
    return about


def _members(value: object, name: str) -> dict[str, object] | None:
    """Return the member *name* of *value*, if it is an object with named members."""
    member = (
        cast("dict[object, object]", value).get(name)
        if isinstance(value, dict)
        else None
    )
    if not isinstance(member, dict):
        return None
    told = cast("dict[object, object]", member)
    return {key: one for key, one in told.items() if isinstance(key, str)}


def _tool_request(request: object) -> Mapping[str, object]:
    return _text_members(request, ("name", "prefix"))


def says_error(value: object) -> bool:
    """Tell whether the *value* of a call of a tool is a result that says error, as MCP does."""
    result = _members(value, "result")
    named = _text_members(value, ("type",)).get("type") == "CallToolResult"
    return named and result is not None and result.get("isError") is True


def _tool_response(response: object) -> Mapping[str, object]:
    return {"is_error": True} if says_error(response) else {}


def _only_reads(request: object) -> bool:
    """Tell whether a call of a tool says that it changes nothing, by its ``level``."""
    return _text_members(request, ("level",)).get("level") in ("none", "read_only")


KERNEL_KINDS: tuple[EffectKind, ...] = (
    EffectKind(
        "llm",
        magnitude="high",
        on_doubt="repeat",
        names_secrets=True,
        about_request=_llm_request,
        about_response=_llm_response,
    ),
    EffectKind(
        "tool",
        is_safe=_only_reads,
        about_request=_tool_request,
        about_response=_tool_response,
    ),
    EffectKind("command"),
    EffectKind("human", source="human_input", magnitude="high", on_doubt="ask"),
    EffectKind("data", source="data", magnitude="low", on_doubt="repeat"),
    EffectKind(
        "execution",
        source="seeded_rng",
        magnitude="low",
        reproducible=True,
        on_doubt="repeat",
        helps=("value.*.error.remedy", "data.remedy"),
    ),
    EffectKind(
        "timer",
        source="data",
        magnitude="low",
        on_doubt="repeat",
        own="muniment.runs.waits.timers:Timer",
        fault="muniment.runs.waits.timers:timer_fault",
        dry=lambda _: None,
    ),
    EffectKind(
        "child",
        source="data",
        on_doubt="repeat",
        own="muniment.runs.waits.called_run:CalledRun",
    ),
)

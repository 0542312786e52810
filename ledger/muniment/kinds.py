"""Effect kinds: what an effect may do, how uncertain it is, and what to do in doubt.

    EffectKind("llm", source="external_oracle", magnitude="high", on_doubt="repeat")

Rules:

- *Entropy* says where the uncertainty of an answer comes from and how large it is;
  budgets count every plugin's effects by these declarations alike.
- A *reproducible* effect is performed again in a replay and compared; every other one
  is only answered from the record.
- *on_doubt* decides about a request without an outcome that a resume finds: it may have
  been performed. ``repeat`` performs it again, ``refuse`` stops, ``ask`` asks whoever
  resumes. A request that *is_safe* changes nothing, however often it is made: it is
  repeated, and nobody is asked.
- Secrets that an answer brought are not in the record. A resume would answer something
  else, so the effect counts as one in doubt there: ``on_doubt`` says whether to perform
  it again. A kind that *names_secrets* lists in its answers what stands for them.
- A kind named ``k`` writes the events ``k.requested``, ``k.completed``, ``k.failed``,
  and ``k.streamed`` where parts of an answer are handed on before it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from muniment.canonical import JsonValue
from muniment.errors import RefusedError

__all__ = ["KERNEL_KINDS", "Doubt", "EffectKind", "Magnitude", "Source"]

Source: TypeAlias = Literal["seeded_rng", "external_oracle", "human_input", "data"]
Magnitude: TypeAlias = Literal["low", "medium", "high"]
Doubt: TypeAlias = Literal["repeat", "refuse", "ask"]
Describe: TypeAlias = Callable[[object], Mapping[str, object]]


def _nothing(_: object) -> Mapping[str, object]:
    return {}


def _never(_: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class EffectKind:
    """The declaration of one kind of effect."""

    name: str
    source: Source = "external_oracle"
    magnitude: Magnitude = "medium"
    reproducible: bool = False
    on_doubt: Doubt = "refuse"
    is_safe: Callable[[object], bool] = _never
    """Tells of a request that it only reads, so that doubt does no harm."""
    names_secrets: bool = False
    """Whether ``secrets`` of an answer lists what stands in it for secrets."""
    request_model: type | None = None
    """A class that requests are validated against, as pydantic does."""
    response_model: type | None = None
    about_request: Describe = _nothing
    """Non-personal facts of a request that stand inline, such as the model's name."""
    about_response: Describe = _nothing
    dry: Callable[[object], object] | None = None
    """What a dry run answers; without it a dry run ends at the first such effect."""

    def in_doubt(self, request: object) -> Doubt:
        """Return what is done about a *request* whose outcome is not there."""
        return "repeat" if self.is_safe(request) else self.on_doubt

    def holds_secret(self, data: Mapping[str, JsonValue]) -> bool:
        """Tell whether the recorded *data* of an answer lacks secrets that it had."""
        parts = [data.get(name) for name in ("value", "data", "head")]
        return self.names_secrets and any(
            isinstance(one, dict) and bool(one.get("secrets")) for one in parts
        )

    def about_answer(self, value: object) -> dict[str, object] | None:
        """Return what stands inline of an answer: its facts, and that it had secrets."""
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


def _llm_request(request: object) -> Mapping[str, object]:
    return _text_members(request, ("model", "provider"))


def _llm_response(response: object) -> Mapping[str, object]:
    about = _text_members(response, ("model", "finish_reason"))
    usage, cost = _members(response, "usage"), _members(response, "cost")
    if usage is not None:
        about["usage"] = {
            name: count for name, count in usage.items() if type(count) is int
        }
    if cost is not None:
        about["cost"] = _text_members(cost, tuple(cost))
    return about


def _members(value: object, name: str) -> dict[str, object] | None:
    """Return the member *name* of *value*, where it is an object with named members."""
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
    return _text_members(request, ("name",))


KERNEL_KINDS: tuple[EffectKind, ...] = (
    EffectKind(
        "llm",
        magnitude="high",
        on_doubt="repeat",
        names_secrets=True,
        about_request=_llm_request,
        about_response=_llm_response,
    ),
    EffectKind("tool", about_request=_tool_request),
    EffectKind("command"),
    EffectKind("human", source="human_input", magnitude="high", on_doubt="ask"),
    EffectKind("data", source="data", magnitude="low", on_doubt="repeat"),
    EffectKind(
        "execution",
        source="seeded_rng",
        magnitude="low",
        reproducible=True,
        on_doubt="repeat",
    ),
)

"""Reading declared data with pydantic: fields that are not plain, and every refusal.

    class ReviewFinished(EventData):
        score: Annotated[int, Field(ge=0, le=10)]

    >>> read("review.finished", ReviewFinished, {"score": 11})
    RefusedError: review.finished data.score: input should be less than or equal to 10 [event/data]; …

Rule: nothing imports this module before it is needed: loading pydantic takes as long as
half of a small program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from muniment.errors import RefusedError
from muniment.events.fields import PlainData, fields_of

__all__ = ["EventData", "model_of", "read"]

_TOLD = 10
"""How many faults a refusal names."""


class EventData(BaseModel):
    """The base of models of event data, for pydantic: frozen, strict, closed.

    A model is built when it is first used: a program writes few of the types. Data of
    texts, numbers, lists and mappings can be declared as `PlainData` instead, which
    does not load pydantic.
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        defer_build=True,
    )


def model_of(declared: type[PlainData]) -> type[EventData]:
    """Return the model that is equivalent to the plain fields of *declared*."""
    fields: dict[str, Any] = {
        name: (kind, getattr(declared, name, ...))
        for name, kind in fields_of(declared).items()
    }
    return create_model(declared.__name__, __base__=EventData, **fields)


def read(
    name: str, model: type[EventData], given: Mapping[str, object]
) -> dict[str, object]:
    """Return the value of every field of *model*, for the event type *name*.

    Raises:
        RefusedError: a field is missing, unknown or of the wrong type.

    """
    try:
        return vars(model.model_validate(given))
    except ValidationError as error:
        raise _refusal(name, model, error) from None


def _refusal(name: str, model: type[EventData], error: ValidationError) -> RefusedError:
    """Return an error that names the fault of each field, at the place of the first."""
    told = [
        (".".join(str(step) for step in one["loc"]), one["msg"].lower())
        for one in error.errors(include_url=False)
    ]
    (field, first), others = told[0], told[1:_TOLD]
    said = [first, *(f"{path}: {message}" for path, message in others)]
    if len(told) > _TOLD:
        said.append(f"and {len(told) - _TOLD} more")
    return RefusedError(
        "; ".join(said),
        rule="event/data",
        place=f"{name} data.{field}" if field else f"{name} data",
        remedy="its fields are " + (", ".join(model.model_fields) or "none"),
    )

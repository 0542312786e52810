"""Declared data as pydantic reads it: what is not plain, and every refusal.

    class ReviewFinished(EventData):
        score: Annotated[int, Field(ge=0, le=10)]

    >>> read("review.finished", ReviewFinished, {"score": 11})
    RefusedError: review.finished data.score: input should be less than or equal to 10 …

Rule: nothing imports this module before it is needed: pydantic costs as much as half of
a small program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from muniment.declaring import PlainData, fields_of
from muniment.errors import RefusedError

__all__ = ["EventData", "model_of", "read"]


class EventData(BaseModel):
    """The base of models of event data, for pydantic: frozen, strict, closed.

    A model is built when it is first used: a program writes few of the types. Data of
    texts, numbers, lists and mappings can be declared as `event_types.PlainData`
    instead, which pydantic need not be loaded for.
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        defer_build=True,
    )


def model_of(declared: type[PlainData]) -> type[EventData]:
    """Return the model that says what the plain fields of *declared* say."""
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
        raise _refusal(name, error) from None


def _refusal(name: str, error: ValidationError) -> RefusedError:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(step) for step in first["loc"]) or "data"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return RefusedError(
        f"{first['msg'].lower()}{more}",
        rule="event/data",
        place=f"{name} data.{path}",
        remedy="see the fields of the type in docs/reference/events.md",
    )

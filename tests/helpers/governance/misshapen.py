"""Events of the types that plugins declare, as a writer with a key could sign them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import NoneType
from typing import Any, get_args

from muniment.encoding.codec import encode
from muniment.events.types import EventType
from muniment.events.vocabulary import Vocabulary
from muniment.plugins import Plugins

__all__ = ["TYPES", "sound", "unsaid", "variants"]


@cache
def _types() -> dict[str, EventType]:
    words = Vocabulary()
    Plugins(None).declare(words.register)
    return {one.name: one for one in words.types if words.types.is_of_plugin(one.name)}


TYPES = _types()
_OTHERS: dict[str, Any] = {
    "null": None,
    "a number": 7,
    "a text": "x",
    "a list": ["x", 7, None],
    "an object": {"x": {"y": 7}},
    "a float": encode(0.5),
    "a blob": {"$blob": "sha256:" + "0" * 64, "size": 3},
}


def unsaid(one: EventType) -> list[str]:
    """Return the fields that may be None: an event says nothing of them then."""
    fields = one.full_model.model_fields
    kinds = {name: info.annotation for name, info in fields.items()}
    return [n for n, one in kinds.items() if one is object or NoneType in get_args(one)]


def sound(one: EventType) -> dict[str, Any]:
    """Return data that has every field, each of its kind."""
    found: dict[str, Any] = {}
    for name, info in one.full_model.model_fields.items():
        text = str(info.annotation)
        if "list" in text:
            found[name] = []
        elif "dict" in text or "object" in text:
            found[name] = {}
        elif "bool" in text:
            found[name] = True
        elif "int" in text or "float" in text:
            found[name] = 1
        else:
            found[name] = "x"
    return found


def variants(one: EventType) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names of faults, and data with each: a field missing, or of another kind."""
    whole = sound(one)
    yield "empty", {}
    yield "others", {"unknown": 1}
    for name in whole:
        yield f"{name} is missing", {k: v for k, v in whole.items() if k != name}
        for said, other in _OTHERS.items():
            yield f"{name} is {said}", {**whole, name: other}

"""Checks of the members of claims, specs and properties.

Rule: a refusal names the member, the value that it has, and values that it could have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn, cast

from muniment_plugins.harness.names import known_first
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = [
    "is_amount",
    "refuse",
    "refuse_unknown",
    "require_list",
    "require_mapping",
    "require_name",
    "require_one_of",
    "require_text",
]


def is_amount(value: object) -> bool:
    """Tell whether *value* is a finite number, 0 or more; a truth value is none."""
    return type(value) in (int, float) and 0 <= cast("float", value) < float("inf")


def require_text(value: object, place: str) -> None:
    """Refuse a value that is not text, or is empty."""
    if not isinstance(value, str) or not value:
        refuse(f"{value!r} is not text", place, "give a text that is not empty")


def require_name(value: object, place: str) -> None:
    """Refuse a value that is not a function's name; None leaves it open."""
    if value is not None and not (isinstance(value, str) and value.isidentifier()):
        refuse(f"{value!r} is not a name of a function", place, "write it as a text")


def require_list(value: object, place: str) -> None:
    """Refuse a value that is neither list nor tuple."""
    if not isinstance(value, list | tuple):
        refuse(f"{value!r} is not a list", place, f"write [{value!r}]")


def require_mapping(value: object, place: str) -> None:
    """Refuse a value that is not a mapping."""
    if not isinstance(value, Mapping):
        refuse(f"{value!r} is not a mapping", place, "give a dict")


def require_one_of(value: object, known: tuple[str, ...], place: str) -> None:
    """Refuse a value that is not one of the *known* words."""
    if value not in known:
        refuse(f"{value!r} means nothing here", place, f"known: {', '.join(known)}")


def refuse_unknown(
    members: Mapping[str, object], known: Iterable[str], place: str
) -> None:
    """Refuse members that nothing would read."""
    unknown = sorted(str(name) for name in members.keys() - set(known))
    if unknown:
        names, first = ", ".join(unknown), known_first(unknown[0], known)
        refuse(f"{names} means nothing here", place, f"known: {', '.join(first)}")


def refuse(message: str, place: str, remedy: str) -> NoReturn:
    """Raise the refusal.

    Raises:
        HarnessRefused: always.

    """
    raise HarnessRefused(message, rule="harness/spec", place=place, remedy=remedy)

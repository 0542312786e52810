"""What differs between equal requests, as the user declares it.

    x-trace              a header
    query.nonce          a parameter of the URL
    body.metadata.id     a member of a JSON body, of each element of lists on the way
    body.nonce           or a field of a form

Rules: what is volatile is not recorded. A header is left out; any other value becomes
``[volatile]``, so that its place shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote_plus

__all__ = ["Volatile"]

_MARK = "[volatile]"
_QUERY, _BODY = "query.", "body."


@dataclass(frozen=True, slots=True)
class Volatile:
    """The names of what is volatile, by their place."""

    headers: frozenset[str] = frozenset()
    parameters: tuple[str, ...] = ()
    members: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> Volatile:
        """Return what *names* declare."""
        given = tuple(names)
        bodies = [one.removeprefix(_BODY) for one in given if one.startswith(_BODY)]
        return cls(
            frozenset(
                one.lower() for one in given if not one.startswith((_QUERY, _BODY))
            ),
            tuple(one.removeprefix(_QUERY) for one in given if one.startswith(_QUERY)),
            tuple(tuple(one.split(".")) for one in bodies),
        )

    def url(self, url: str) -> str:
        """Return *url* without the values of volatile parameters."""
        place, mark, rest = url.partition("?")
        query, hash_mark, fragment = rest.partition("#")
        return f"{place}{mark}{_form(query, self.parameters)}{hash_mark}{fragment}"

    def form(self, text: str) -> str:
        """Return the form *text* without the values of volatile fields."""
        return _form(text, [path[0] for path in self.members if len(path) == 1])

    def json(self, value: object) -> object:
        """Return the JSON *value* without the values of volatile members."""
        for path in self.members:
            value = _without(value, path)
        return value


def _form(text: str, names: Iterable[str]) -> str:
    wanted = frozenset(names)
    if not wanted:
        return text
    return "&".join(_field(one, wanted) for one in text.split("&"))


def _field(field: str, names: frozenset[str]) -> str:
    name, mark, _ = field.partition("=")
    is_named = name in names or unquote_plus(name, errors="surrogateescape") in names
    return f"{name}={_MARK}" if mark and is_named else field


def _without(value: object, path: tuple[str, ...]) -> object:
    if isinstance(value, list):
        return [_without(one, path) for one in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, object]", value)
    name, *rest = path
    if name not in members:
        return members
    inner = _without(members[name], tuple(rest)) if rest else _MARK
    return {**members, name: inner}

"""What a planner gave, as JSON: an object, a list, or a text with one of these in it.

Rules:

- A text that begins with ``{`` or ``[``, alone or in a fence of Markdown, is JSON; if it
  cannot be read as that, it is refused with line and column. In prose an object that holds
  actions, or a list of objects, is the plan, too, and the prose is kept. Every other text
  is one action. Of two plans in one text nobody knows which is meant: it is refused.
- What JSON lacks, or two readers could read differently, is refused: NaN, half a
  character, a member that is there twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NoReturn, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.actions.words import CONTAINERS, GROUPS, ORDERED
from muniment_plugins.workflow.artifacts.plain_json import plain_json

__all__ = ["plan_json"]

_FENCED = re.compile(r"```[A-Za-z]*\s*\n(.*?)\n\s*```", re.DOTALL)
_OPENS = re.compile(r'\{\s*"|\[\s*\{\s*"')
_MOST_TRIES = 64
"""Openings of JSON in prose that lead to none: who writes more writes no plan."""
_HOLDERS = (*CONTAINERS, *ORDERED, *GROUPS)
_REMEDY = "let the planner write JSON, or plain words"


def plan_json(raw: object, at: At) -> tuple[JsonValue, list[str]]:
    """Return what is in *raw*, as plain JSON, and the prose around it.

    Raises:
        UsageError: it is no plan, or has no JSON form; the message names the place.

    """
    if isinstance(raw, str | bytes):
        return _in_text(_decoded(raw, at), at)
    value = plain_json(raw, at)
    if not isinstance(value, dict | list):
        kind = "null" if value is None else type(value).__name__
        raise at.wrong(f"a {kind} is no plan", "plan", _REMEDY)
    return value, []


def _decoded(raw: str | bytes, at: At) -> str:
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise at.wrong(
            f"byte {error.start} is not UTF-8", "plan", "write the plan in UTF-8"
        ) from None


def _in_text(text: str, at: At) -> tuple[JsonValue, list[str]]:
    whole = text.strip()
    if not whole:
        raise at.wrong("it is empty", "plan", _REMEDY)
    if whole[0] in "{[":
        return _read(whole, at), []
    found = [*_spans(text)]
    if not found:
        return plain_json(whole, at), []
    if len(found) > 1:
        lines = [str(text.count("\n", 0, start) + 1) for start, _ in found]
        raise at.wrong(
            f"there are {len(found)} plans in the text, at the lines {', '.join(lines)}",
            "plan",
            "let the planner write one",
        )
    ((start, end),) = found
    around = [one for one in (text[:start].strip(), text[end:].strip()) if one]
    plain_json(around, at)
    return _read(text[start:end], at), around


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where in *text* a plan is: JSON in a fence, and in prose what holds actions."""
    fences = [
        one for one in _FENCED.finditer(text) if one[1].lstrip()[:1] in ("{", "[")
    ]
    ends = [0, *(one.end() for one in fences)]
    starts = [*(one.start() for one in fences), len(text)]
    for number, (begin, end) in enumerate(zip(ends, starts, strict=True)):
        yield from _in_prose(text, begin, end)
        if number < len(fences):
            yield fences[number].span(1)


def _in_prose(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    tries, prose = 0, text[:end]
    while tries < _MOST_TRIES and (opened := _OPENS.search(prose, begin)) is not None:
        begin = opened.start()
        try:
            value, stop = _DECODER.raw_decode(prose, begin)
        except (ValueError, RecursionError):
            tries, begin = tries + 1, begin + 1
            continue
        if _holds_actions(value):
            yield begin, stop
        begin = stop


_DECODER = json.JSONDecoder()


def _holds_actions(value: object) -> bool:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return any(isinstance(members.get(one), list | dict) for one in _HOLDERS)
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return bool(rows) and all(isinstance(one, dict) for one in rows)


def _read(plain: str, at: At) -> JsonValue:
    try:
        value = json.loads(plain, parse_constant=_no_number, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise at.wrong(f"{error.msg} at {where}", "plan", _REMEDY) from None
    except (_OddError, ValueError) as error:
        raise at.wrong(f"{error}"[:200], "plan", _REMEDY) from None
    except RecursionError:
        raise at.wrong("it nests too deep", "plan", "make it flatter") from None
    return plain_json(value, at)


class _OddError(Exception):
    """Something that JSON has not, or two readers could read differently."""


def _no_number(word: str) -> NoReturn:
    raise _OddError(f"{word} is no number of JSON")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise _OddError(f"the member {name!r:.60} is there twice")
        found[name] = value
    return found

"""Documents as files: JSON, YAML and TOML, read into plain JSON values.

    read_document(Path("flow.yaml"), "flow")
    {"flow_id": "flow-boring", "agents": ["agent-a", "agent-b"], …}

Rules:

- The ending of the name says which format it is. The top of a document is an object.
- One document has one meaning: keys that are there twice are refused, and so are numbers
  that JSON lacks, dates, files that are not UTF-8, and what nests deeper than 32.
- A file has at most 1 MiB. Only a regular file is opened.
- A document that is given in Python goes through the same checks (`plain_document`).
- YAML is read without tags, anchors and merge keys, and words that its versions do not
  read alike (``no``, ``010``, ``1:30``) must be quoted. It needs PyYAML:
  `pip install muniment[yaml]`.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import cast

from muniment.documents.nesting import (
    DEEPEST,
    refuse_deep_json,
    refuse_deep_toml,
    too_deep,
)
from muniment.documents.places import At, WrittenObject
from muniment.encoding.canonical import MAX_INTEGER, JsonValue
from muniment.files.folder import read_given

__all__ = [
    "MOST",
    "SUFFIXES",
    "parse_document",
    "plain_document",
    "read_document",
    "read_value",
]

MOST = 1 << 20
"""The most bytes of a file."""
_Parser = Callable[[str, At], object]
_LOOKED_AT = 10_000
"""Names of a folder that are compared with one that is not there."""
_MEND = "mend what is there, or end the name by the format that it is in"
_SHORTER = "write it as a text"
_NEAR = 0.75
"""How alike names are of which one may have been meant by the other."""


def read_document(path: Path, family: str) -> dict[str, JsonValue]:
    """Return the object in the file *path*.

    Args:
        path: a file that ends in .json, .yaml, .yml or .toml.
        family: the first half of the rules that it can break, ``flow`` or ``policy``.

    Raises:
        UsageError: it cannot be read as such; the message says where.

    """
    value = read_value(path, family)
    if not isinstance(value, dict):
        raise At(str(path), family).wrong(
            "its top is not an object", "type", "write keys and values at the top"
        )
    return value


def read_value(path: Path, family: str) -> JsonValue:
    """Return the value in the file *path*, whose top may be a list, too.

    Raises:
        UsageError: it cannot be read as such; the message says where.

    """
    at = At(str(path), family)
    parse = _PARSERS.get(path.suffix.lower())
    if parse is None:
        raise at.wrong(
            f"nothing is known about files that end in {path.suffix or 'nothing'}",
            "format",
            f"use {', '.join(_PARSERS)}",
        )
    return _parsed(parse, _bytes(path, at), at)


def parse_document(data: bytes, family: str, place: str) -> dict[str, JsonValue]:
    """Return the object in *data*, which came by a pipe: JSON, else YAML.

    Args:
        data: at most 1 MiB; what begins with ``{`` is JSON.
        family: the first half of the rules that it can break, ``flow`` or ``policy``.
        place: what messages call the document.

    Raises:
        UsageError: it cannot be read as such; the message says where.

    """
    at = At(place, family)
    if len(data) > MOST:
        raise at.wrong("it has more than 1 MiB", "file", "give less")
    is_json = data.lstrip().startswith(b"{")
    value = _parsed(_json if is_json else _yaml, data, at)
    if not isinstance(value, dict):
        raise at.wrong(
            "its top is not an object", "type", "write keys and values at the top"
        )
    return value


def _parsed(parse: _Parser, data: bytes, at: At) -> JsonValue:
    try:
        return _plain(parse(_text(data, at), at), at, 0)
    except RecursionError:
        raise too_deep(at) from None


def plain_document(value: object, family: str, place: str) -> JsonValue:
    """Return *value*, a document that Python gives, as one that was read from a file.

    Args:
        value: what was given; it is copied.
        family: the first half of the rules that it can break, ``flow`` or ``policy``.
        place: what messages call the document.

    Raises:
        UsageError: a file could not hold it so; the message says where.

    """
    at = At(place, family)
    try:
        return _plain(value, at, 0)
    except RecursionError:
        raise too_deep(at) from None


def _bytes(path: Path, at: At) -> bytes:
    try:
        return read_given(path, MOST)
    except OSError as error:
        why = error.strerror or type(error).__name__
        remedy = "give a file, of at most 1 MiB"
        if isinstance(error, FileNotFoundError):
            remedy = _near_file(path) or remedy
        raise at.wrong(f"it cannot be read: {why}", "file", remedy) from error


def _near_file(path: Path) -> str:
    """Return which document beside *path* may have been meant; empty if none."""
    try:
        names = [one.name for one in islice(path.parent.iterdir(), _LOOKED_AT)]
    except OSError:
        return ""
    known = [
        one
        for one in sorted(names)
        if Path(one).suffix.lower() in _PARSERS and one != path.name
    ]
    found = get_close_matches(path.name, known, n=1, cutoff=_NEAR)
    return f"did you mean {path.with_name(found[0])}?" if found else ""


def _text(data: bytes, at: At) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise at.wrong(
            f"byte {error.start} is not UTF-8", "encoding", "save the file as UTF-8"
        ) from None
    if text.startswith("\ufeff"):
        raise at.wrong(
            "it begins with a byte order mark", "encoding", "save it as UTF-8 without"
        )
    return text


def _json(text: str, at: At) -> object:
    def number(constant: str) -> object:
        raise at.wrong(
            f"{constant} is no number of JSON", "number", "write a finite number"
        )

    refuse_deep_json(text, at)
    try:
        return cast(
            "object",
            json.loads(text, object_pairs_hook=_members, parse_constant=number),
        )
    except json.JSONDecodeError as error:
        raise _unread(at, "JSON", error.msg, error.lineno, error.colno) from None
    except ValueError:  # an integer of more digits than Python reads
        raise at.wrong("a number has too many digits", "number", _SHORTER) from None


def _members(pairs: list[tuple[str, object]]) -> WrittenObject:
    return WrittenObject([*pairs])


def _toml(text: str, at: At) -> object:
    refuse_deep_toml(text, at)
    try:
        return cast("object", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise at.wrong(f"it is not TOML: {error}", "format", _MEND) from None
    except ValueError:
        raise at.wrong("a number has too many digits", "number", _SHORTER) from None


def _yaml(text: str, at: At) -> object:
    from muniment.documents.yaml_nodes import (  # noqa: PLC0415 - an extra
        parse_yaml,
    )

    return parse_yaml(text, at)


def _unread(at: At, name: str, why: str, line: int, column: int) -> Exception:
    message = (
        f"it is not {name}: {why[:1].lower()}{why[1:]}, line {line} column {column}"
    )
    return at.wrong(message, "format", _MEND)


_PARSERS: dict[str, _Parser] = {
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".toml": _toml,
}
SUFFIXES = frozenset(_PARSERS)
"""How the names of documents end."""


def _plain(value: object, at: At, depth: int) -> JsonValue:
    """Return *value* as JSON has it, or refuse it with its place."""
    if isinstance(value, str):
        return _sound(value, at)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value, at)
    if depth >= DEEPEST:
        raise too_deep(at)
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_plain(one, at.item(n), depth + 1) for n, one in enumerate(items)]
    if isinstance(value, WrittenObject):
        return _object(value.pairs, at, depth + 1)
    if isinstance(value, dict):
        pairs = [*cast("dict[object, object]", value).items()]
        return _object(pairs, at, depth + 1)
    raise at.wrong(
        f"a {type(value).__name__} is no value of JSON", "type", "write it as a text"
    )


def _object(
    pairs: list[tuple[object, object]], at: At, depth: int
) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key, value in pairs:
        if not isinstance(key, str):
            raise at.wrong(f"the key {key!r:.60} is not a text", "type", "quote it")
        there = _sound(key, at)
        if key in found:
            raise at.key(there).wrong(
                "the key is there twice", "duplicate", "keep one of them"
            )
        if type(value) is str and value.isascii():
            found[key] = value  # as most are: no place is needed
        else:
            found[key] = _plain(value, at.key(there), depth)
    return found


def _sound(text: str, at: At) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise at.wrong("a text has half a character", "encoding") from None
    return text


def _number(value: float, at: At) -> float:
    if MAX_INTEGER < abs(value) != math.inf:  # an integer may be beyond all floats
        raise at.wrong("the number is beyond 2^53 - 1", "number", "write it as a text")
    if not math.isfinite(value):
        raise at.wrong(
            f"{value} is no number of JSON", "number", "write a finite number"
        )
    return value

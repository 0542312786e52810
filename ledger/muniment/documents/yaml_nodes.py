"""YAML as nodes, of which nothing has two meanings.

    answer: no          refused: false in YAML 1.1, a text in YAML 1.2
    version: 1.10       1.1, as in both
    version: "1.10"     a text, as in both

PyYAML makes the nodes, and reads plain words as YAML 1.1 does; here they are read as in the
core schema of YAML 1.2. A word that the two do not read alike has to be quoted.

Rule: what nests too deep is refused as soon as that is read. PyYAML takes time for each
level at each further word, so reading on would take minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import cast

from muniment.documents.nesting import DEEPEST, too_deep
from muniment.documents.places import At, WrittenObject

__all__ = ["parse_yaml"]

_MEND = "mend what is there, or end the name by the format that it is in"

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("true", "True", "TRUE"))
_FALSE = frozenset(("false", "False", "FALSE"))
_WHOLE = re.compile(r"[-+]?[0-9]{1,400}")
_BASED = re.compile(r"0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_OCTAL = re.compile(r"[-+]?0[0-9]+")
_TAGS: dict[type[object], str] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
}
"""Type → what YAML calls it."""
_ENDLESS = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def parse_yaml(text: str, at: At) -> object:
    """Return the value of the YAML document *text*, objects as `WrittenObject`.

    Raises:
        UsageError: it is not YAML, or uses what has no JSON form; or PyYAML is absent.

    """
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise at.wrong(
            "PyYAML, which reads YAML, is not installed",
            "format",
            "pip install 'muniment[yaml]', or write the file as JSON or TOML",
        ) from None
    parse = cast("Callable[..., Iterable[object]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType] - its stubs
    compose = cast("Callable[..., object]", yaml.compose)  # pyright: ignore[reportUnknownMemberType] - the same
    try:
        depth = 0
        for event in parse(text, Loader=yaml.SafeLoader):
            _refuse_event(event, at)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise too_deep(at)
        node = compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark
        line = (
            ""
            if where is None
            else f", line {where.line + 1} column {where.column + 1}"
        )
        raise at.wrong(
            f"it is not YAML: {error.problem}{line}", "format", _MEND
        ) from None
    except yaml.YAMLError as error:
        first = str(error).partition("\n")[0]
        raise at.wrong(f"it is not YAML: {first}", "format", _MEND) from None
    return _value(node, at)


def _refuse_event(event: object, at: At) -> None:
    """Refuse anchors, aliases and tags: what they mean is not in the text."""
    line = cast("int", getattr(getattr(event, "start_mark", None), "line", 0)) + 1
    if getattr(event, "anchor", None) is not None:
        raise at.wrong(
            f"line {line} has an anchor or an alias", "format", "write it out"
        )
    tag = getattr(event, "tag", None)
    if tag is not None:
        raise at.wrong(f"line {line} has the tag {tag}", "format", "leave it out")


def _value(node: object, at: At) -> object:
    import yaml  # noqa: PLC0415 - an extra

    if node is None:
        return None
    if isinstance(node, yaml.ScalarNode):
        text = cast("str", node.value)
        if node.style is not None:
            return text
        tag: str = node.tag
        return _plain_word(text, tag, at)
    if isinstance(node, yaml.SequenceNode):
        items = cast("list[object]", node.value)
        return [_value(one, at.item(number)) for number, one in enumerate(items)]
    if isinstance(node, yaml.MappingNode):
        pairs = cast("list[tuple[object, object]]", node.value)
        return WrittenObject([_pair(key, value, at) for key, value in pairs])
    raise at.wrong(f"{type(node).__name__} has no JSON form", "format", _MEND)


def _pair(key: object, value: object, at: At) -> tuple[object, object]:
    if getattr(key, "tag", "").endswith(":merge"):
        raise at.wrong("a merge key has no JSON form", "format", "write it out")
    name = _value(key, at)
    there = at.key(name) if isinstance(name, str) else at
    return name, _value(value, there)


def _plain_word(word: str, tag: str, at: At) -> object:
    if _ENDLESS.fullmatch(word):
        raise at.wrong(f"{word} is no number of JSON", "number", "write a finite one")
    value = _core(word)
    if _TAGS[type(value)] != tag.rpartition(":")[2] or _OCTAL.fullmatch(word):
        raise at.wrong(
            f"{word!r:.60} means one thing in YAML 1.1, and another in YAML 1.2",
            "ambiguous",
            "quote it if it is a text; write true, false, or a plain number if it is not",
        )
    return value


def _core(word: str) -> object:
    """Return what *word* means in the core schema of YAML 1.2."""
    if word in _NULL:
        return None
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    if _WHOLE.fullmatch(word):
        return int(word)
    if _BASED.fullmatch(word):
        return int(word, 0)
    if _FLOAT.fullmatch(word):
        return float(word)
    return word

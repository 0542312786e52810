"""JSON Patch (RFC 6902): a change of a JSON document, as a list of operations.

    apply_patch({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}])    {'a': [1, 2]}

Rules:

- All or nothing: the document that was given is never changed, and the answer shares
  nothing with it or with the patch.
- Members of an operation that it does not have are ignored, as the RFC says; one that it
  needs and does not have is a mistake, and so is a target that is not there.
- ``test`` compares as JSON does: ``1`` is ``1.0``, and neither is ``true`` nor ``"1"``.
- The document itself can be replaced, and not removed: there would be nothing.
- What a patch copies has at most as many bytes in all as a document: so what it makes is
  never much longer than what it is made of, however short the patch is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from muniment.documents.places import At, near
from muniment.documents.reading import MOST
from muniment.encoding.canonical import MAX_DEPTH, JsonValue
from muniment.errors import RefusedError
from muniment_plugins.workflow.edits.pointers import (
    Tokens,
    index_in,
    pointer_to,
    tokens_of,
)

__all__ = ["PatchOperation", "apply_patch", "own_copy", "same_json"]

PatchOperation: TypeAlias = dict[str, JsonValue]
_Container: TypeAlias = "dict[str, JsonValue] | list[JsonValue]"


def same_json(one: JsonValue, other: JsonValue) -> bool:
    """Tell whether two documents are the same JSON: ``1`` is ``1.0``, and not ``true``."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same_json(item, other[name]) for name, item in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def own_copy(value: JsonValue) -> JsonValue:
    """Return *value*, sharing nothing with it."""
    if isinstance(value, dict):
        return {name: own_copy(one) for name, one in value.items()}
    if isinstance(value, list):
        return [own_copy(one) for one in value]
    return value


def apply_patch(
    document: JsonValue,
    patch: Iterable[Mapping[str, object]],
    place: str = "the patch",
) -> JsonValue:
    """Return what *patch* makes of *document*.

    Args:
        document: any JSON document; it stays as it is.
        patch: the operations, in their order.
        place: what messages call the patch.

    Raises:
        UsageError: an operation is none, or has no target in the document.
        RefusedError: a ``test`` found something else.

    """
    at = At(place, "workflow")
    _require_flat(document, At("the document", "workflow"))
    made = _Made(own_copy(document))
    if isinstance(patch, Mapping | str):
        raise at.wrong("a patch is a list of operations", "patch", "write a list")
    for number, one in enumerate(patch):
        _perform(made, one, at.item(number))
    _require_flat(made.document, at)
    return made.document


@dataclass(slots=True)
class _Made:
    """The document as it is so far."""

    document: JsonValue
    copied: int = 0
    """How many bytes of it are copies."""

    def parent(self, tokens: Tokens, at: At) -> _Container:
        """Return the object or list in which the last of *tokens* is looked up."""
        found = self.at(tokens[:-1], at)
        if not isinstance(found, dict | list):
            where = pointer_to(tokens[:-1]) or "the document"
            raise at.wrong(
                f"{where} is neither an object nor a list: nothing is in it",
                "patch-target",
            )
        return found

    def at(self, tokens: Tokens, at: At) -> JsonValue:
        """Return what is at *tokens*."""
        found = self.document
        for number, token in enumerate(tokens):
            if isinstance(found, dict):
                if token not in found:
                    raise _missing(tokens[: number + 1], found, at)
                found = found[token]
            elif isinstance(found, list):
                found = found[index_in(token, len(found), at)]
            else:
                raise _missing(tokens[: number + 1], (), at)
        return found

    def add(self, tokens: Tokens, value: JsonValue, at: At) -> None:
        if len(tokens) > MAX_DEPTH:
            raise at.wrong(f"it nests deeper than {MAX_DEPTH}", "depth")
        if not tokens:
            self.document = value
            return
        parent = self.parent(tokens, at)
        if isinstance(parent, dict):
            parent[tokens[-1]] = value
        else:
            parent.insert(index_in(tokens[-1], len(parent), at, adding=True), value)

    def remove(self, tokens: Tokens, at: At) -> JsonValue:
        if not tokens:
            raise at.wrong(
                "the document itself is not removed", "patch-target", "replace it"
            )
        parent = self.parent(tokens, at)
        if isinstance(parent, list):
            return parent.pop(index_in(tokens[-1], len(parent), at))
        if tokens[-1] not in parent:
            raise _missing(tokens, parent, at)
        return parent.pop(tokens[-1])

    def replace(self, tokens: Tokens, value: JsonValue, at: At) -> None:
        if not tokens:
            self.document = value
            return
        self.at(tokens, at)
        parent = self.parent(tokens, at)
        if isinstance(parent, dict):
            parent[tokens[-1]] = value
        else:
            parent[index_in(tokens[-1], len(parent), at)] = value


def _missing(tokens: Tokens, known: Iterable[str], at: At) -> Exception:
    names = [*known]
    hint = near(tokens[-1], names[:20]) if names else ""
    return at.wrong(f"there is no {pointer_to(tokens)!r:.120}", "patch-target", hint)


def _add(made: _Made, said: Mapping[str, JsonValue], path: Tokens, at: At) -> None:
    made.add(path, _value(said, at), at.key("path"))


def _remove(made: _Made, _: Mapping[str, JsonValue], path: Tokens, at: At) -> None:
    made.remove(path, at.key("path"))


def _replace(made: _Made, said: Mapping[str, JsonValue], path: Tokens, at: At) -> None:
    made.replace(path, _value(said, at), at.key("path"))


def _move(made: _Made, said: Mapping[str, JsonValue], path: Tokens, at: At) -> None:
    source = _pointer(said, "from", at)
    if len(source) < len(path) and path[: len(source)] == source:
        raise at.key("path").wrong(
            "what is moved cannot come to stand in itself", "patch-target"
        )
    if source == path:
        made.at(source, at.key("from"))
        return
    made.add(path, made.remove(source, at.key("from")), at.key("path"))


def _copy(made: _Made, said: Mapping[str, JsonValue], path: Tokens, at: At) -> None:
    found = made.at(_pointer(said, "from", at), at.key("from"))
    made.copied += _bytes_of(found, MOST - made.copied)
    if made.copied > MOST:
        raise at.wrong(
            f"by here the patch copies more than {MOST} bytes, which no document has",
            "patch-size",
            "copy less",
        )
    _require_flat(found, at.key("path"), MAX_DEPTH - len(path))
    made.add(path, own_copy(found), at.key("path"))


def _test(made: _Made, said: Mapping[str, JsonValue], path: Tokens, at: At) -> None:
    expected = _value(said, at)
    if not same_json(made.at(path, at.key("path")), expected):
        raise RefusedError(
            f"{pointer_to(path) or 'the document'} is something else than the patch "
            "was made for",
            rule="workflow/patch-test",
            place=f"{at.file}: {at.path}",
            remedy="make the change again, of the document as it is now",
        )


_Operation: TypeAlias = Callable[[_Made, Mapping[str, JsonValue], Tokens, At], None]
_OPERATIONS: Mapping[str, _Operation] = {
    "add": _add,
    "copy": _copy,
    "move": _move,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
}


def _perform(made: _Made, operation: object, at: At) -> None:
    if not isinstance(operation, Mapping):
        raise at.wrong("an operation is an object", "patch", "write op and path")
    said = cast("Mapping[str, JsonValue]", operation)
    name = said.get("op")
    if not isinstance(name, str) or name not in _OPERATIONS:
        raise at.key("op").wrong(
            f"no operation is called {name!r:.40}",
            "patch",
            near(str(name)[:40], _OPERATIONS),
        )
    _OPERATIONS[name](made, said, _pointer(said, "path", at), at)


def _pointer(said: Mapping[str, JsonValue], key: str, at: At) -> Tokens:
    found = said.get(key)
    if not isinstance(found, str):
        raise at.key(key).wrong(
            "it is no text" if key in said else "it is missing",
            "patch",
            "write a JSON Pointer",
        )
    return tokens_of(found, at.key(key))


def _value(said: Mapping[str, JsonValue], at: At) -> JsonValue:
    if "value" not in said:
        raise at.key("value").wrong("it is missing", "patch", "write the value")
    value = said["value"]
    _require_flat(value, at.key("value"))
    return own_copy(value)


def _bytes_of(value: JsonValue, most: int) -> int:
    """Return about how many bytes of JSON *value* has, or a number above *most*."""
    taken, left = 0, [value]
    while left and taken <= most:
        one = left.pop()
        if isinstance(one, str):
            taken += len(one) + 3
            continue
        taken += 3
        if isinstance(one, dict):
            taken += sum(len(name) + 3 for name in one)
        left += _items(one)
    return taken


def _require_flat(value: JsonValue, at: At, most: int = MAX_DEPTH) -> None:
    """Refuse what nests deeper than *most*, as canonical JSON does not."""
    level: list[JsonValue] = [value]
    for _ in range(most + 1):
        level = [item for one in level for item in _items(one)]
        if not level:
            return
    raise at.wrong(f"it nests deeper than {MAX_DEPTH}", "depth", "make it flatter")


def _items(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()

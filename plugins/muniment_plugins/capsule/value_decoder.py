"""Reads values of `muniment.encoding.codec` in the child, without importing the kernel.

    {"$tuple": [1, {"$float": "2.0"}]}  ->  (1, 2.0)

Rules:

- The parent wrote the text with `muniment.encoding.codec.encode`: it is trusted, so
  nothing is checked twice. Registered classes (``$object``) do not exist in a capsule.
- Containers and numbers are read here; only rarer tags load the two kernel modules that
  read them, which depend on the standard library alone.
"""

from __future__ import annotations

from muniment_plugins.capsule.protocol import is_list, is_object

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["decode_plain"]

_READERS: dict[str, Callable[[Any], object]] = {
    "$float": float,
    "$frozenset": lambda items: frozenset(map(decode_plain, items)),
    "$int": int,
    "$map": lambda pairs: {
        decode_plain(key): decode_plain(item) for key, item in pairs
    },
    "$set": lambda items: set(map(decode_plain, items)),
    "$tuple": lambda items: tuple(map(decode_plain, items)),
}

_AS_THEY_ARE = frozenset((bool, float, int, str, type(None)))


def decode_plain(value: Any) -> Any:
    """Return the Python value that *value* encodes."""
    if is_list(value):
        if _AS_THEY_ARE.issuperset(map(type, value)):  # a million in a few milliseconds
            return value
        return [decode_plain(item) for item in value]
    if not is_object(value):
        return value
    if len(value) == 1:
        ((tag, content),) = value.items()
        if tag.startswith("$") and not tag.startswith("$$"):
            return _READERS.get(tag, lambda content: _rare(tag, content))(content)
    return {key.removeprefix("$"): decode_plain(item) for key, item in value.items()}


def _rare(tag: str, content: str) -> object:
    from muniment.encoding.scalars import SCALARS_BY_TAG  # noqa: PLC0415 - rarely needed

    if tag in SCALARS_BY_TAG:
        return SCALARS_BY_TAG[tag].read(content)
    import base64  # noqa: PLC0415 - see above

    from muniment.encoding.arrays import ARRAYS_BY_TAG  # noqa: PLC0415 - see above

    return ARRAYS_BY_TAG[tag].read(base64.b64decode(content))

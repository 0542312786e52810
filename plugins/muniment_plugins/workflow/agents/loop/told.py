"""What a tool returned, as a model reads it.

    "text"              as it is
    {"a": [1, 2]}       its canonical JSON
    (1, Decimal("1.5")) [1, "1.5"]
    {"b", "a"}          {"$set": ["a", "b"]}, its recorded form

Rules:

- It is told from the value as the record gives it back, and the same in each process: a
  resume, a replay and a fork tell the model what it was told at first.
- What JSON lacks is told by its text, unless that depends on the process, as the order of a
  set does, and the address of an object; or JSON has no place for it, as for a key that is a
  tuple. That is told in its recorded form (``docs/spec/values.md``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from muniment.encoding.canonical import JsonValue, canonical
from muniment.encoding.codec import ValueType, ValueTypes, encode
from muniment.errors import ValueRefused
from muniment.lazy import loaded
from muniment_plugins.workflow.artifacts.plain_json import json_text

__all__ = ["told_text"]

_ITSELF = (str, int, float, bool, type(None))
"""What JSON has; as keys of an object, too, which JSON writes as texts."""
_UNORDERED = re.compile(r'\{"\$(?:frozen)?set":')
_FRAME = '{"$dataframe":'
_TABLE: Mapping[str, object] = {
    "max_rows": 60,
    "min_rows": 10,
    "max_cols": 20,
    "max_colwidth": 50,
    "line_width": 80,
    "show_dimensions": "truncate",
}
"""How pandas words a table of itself where there is no terminal."""
_OBJECT = re.compile(r'\{"\$object":\["([^"]+)"')


def told_text(value: object, types: ValueTypes) -> str:
    """Return the *value* that a tool returned, as the record has it, as a text."""
    if isinstance(value, str):
        return value
    try:
        return json_text(cast("JsonValue", value))
    except ValueRefused:
        return json.dumps(_listed(value, types), ensure_ascii=False)


def _listed(value: object, types: ValueTypes) -> JsonValue:
    if isinstance(value, _ITSELF):
        return value
    if isinstance(value, dict):
        members = cast("Mapping[object, object]", value)
        if not all(isinstance(key, _ITSELF) for key in members):
            return encode(members, types)
        made = {key: _listed(one, types) for key, one in members.items()}
        return cast("dict[str, JsonValue]", made)
    if isinstance(value, list | tuple):
        return [_listed(one, types) for one in cast("Sequence[object]", value)]
    recorded = encode(value, types)
    return _text_of(value, recorded, types) or recorded


def _text_of(value: object, recorded: JsonValue, types: ValueTypes) -> str | None:
    """Return the text of *value*, None if it depends on the process or there is none."""
    form = canonical(recorded).decode()
    classes = [types.named(name) for name in _OBJECT.findall(form)]
    if _UNORDERED.search(form) or not all(map(_has_text, classes)):
        return None
    frame = loaded("pandas", "DataFrame")
    try:
        if frame is not None and isinstance(value, frame):
            return str(cast("Any", value).to_string(**_TABLE))
        return None if _FRAME in form else str(value)
    except Exception:  # noqa: BLE001 - whatever a class raises
        return None


def _has_text(known: ValueType | None) -> bool:
    """Tell whether a class says what its instances are, other than by their address."""
    if known is None:
        return False
    own: Any = known.cls
    return own.__str__ is not object.__str__ or own.__repr__ is not object.__repr__

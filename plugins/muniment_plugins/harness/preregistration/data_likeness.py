"""Whether two data sets are the same or edits of each other: reordered, cut, changed.

    alike([3, 1, 2], [1, 2, 3])                         True
    alike([1, 2, 3, 4, 5], [1, 2, 3, 4, 6])             True

Rules:

- The same rows in another order are the same data.
- With five different rows or more, sharing four fifths of them makes data the same, but
  only if most rows differ from each other: throws of a die share their faces, and are
  not copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

from muniment.encoding.canonical import canonical
from muniment.encoding.codec import encode
from muniment.errors import ValueRefused

__all__ = ["alike", "rows_in"]

_FEWEST = 5
_SHARE = 0.8

Rows = Counter[bytes]


def alike(one: object, other: object) -> bool:
    """Tell whether *one* is *other*, or an edit of it."""
    return rows_alike(rows_in(one), rows_in(other))


def rows_alike(first: Rows, second: Rows) -> bool:
    """Tell the same about two sets of rows."""
    if first == second:
        return bool(first)
    fewest = min(len(first), len(second))
    if fewest < _FEWEST or not (_mostly_differ(first) and _mostly_differ(second)):
        return False
    return len(first.keys() & second.keys()) >= _SHARE * fewest


def rows_in(data: object) -> Rows:
    """Return the rows of *data*, each as bytes, and how often it occurs."""
    return Counter(_written(row) for row in _rows(data))


def _mostly_differ(rows: Rows) -> bool:
    return 2 * len(rows) > rows.total()


def _rows(data: Any) -> Iterable[object]:
    """Yield rows; for several tables side by side, those of each."""
    if isinstance(data, tuple):
        parts = cast("tuple[object, ...]", data)
        yield from (row for part in parts for row in _rows(part))
    elif isinstance(data, Mapping):
        columns = list(cast("Mapping[object, object]", data).values())
        lists = all(isinstance(one, list) for one in columns)
        if lists and len({len(cast("list[object]", one)) for one in columns}) == 1:
            yield from zip(*cast("list[list[object]]", columns), strict=True)
        else:
            yield data
    elif isinstance(data, list):
        yield from cast("list[object]", data)
    elif hasattr(data, "to_pylist"):
        yield from data.to_pylist()
    elif hasattr(data, "tolist") and getattr(data, "ndim", None):
        yield from data.tolist()
    elif hasattr(data, "itertuples"):
        yield from (list(row) for row in data.itertuples(index=False))
    else:
        yield data


def _written(row: object) -> bytes:
    try:
        return canonical(encode(row))
    except ValueRefused:
        return repr(row).encode("utf-8", "backslashreplace")

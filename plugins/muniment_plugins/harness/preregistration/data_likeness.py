"""Whether two data sets are the same or edits of each other: reordered, cut, changed.

    alike([3, 1, 2], [1, 2, 3])                         True
    alike([1, 2, 3, 4, 5], [1, 2, 3, 4, 6])             True
    identity_of([3, 1, 2]) == identity_of([1.0, 2, 3])  True

Rules:

- The same rows in another order are the same data, for a run that looks at it again as
  for replicates. Numbers are values: 1 is 1.0. Plans before the third edition told
  numbers apart by their types, and replicates also by the order of their rows.
- With five different rows or more, sharing four fifths of them makes data the same, but
  only if most rows differ from each other: throws of a die share their faces, and are
  not copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

from muniment.encoding.canonical import canonical, sha256_tag
from muniment.encoding.codec import encode, written
from muniment.errors import ValueRefused

__all__ = ["LARGEST", "alike", "identity_of", "rows_in"]

LARGEST = 2**20
"""In how many bytes of data rows are looked for; larger data is compared as a whole."""
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


def identity_of(data: object) -> str | None:
    """Return what two data sets have in common if they are the same; None if unknown.

    It is the digest of the rows in any order, or of the content if that is large or has
    no rows.
    """
    try:
        content = written(data)[1]
    except ValueRefused:  # a type that the ledger's plugins know
        return None
    rows = rows_in(data) if len(content) <= LARGEST else Counter[bytes]()
    if not rows:
        return sha256_tag(content)
    counted = sorted((row.decode(), times) for row, times in rows.items())
    return sha256_tag(canonical(encode([[row, times] for row, times in counted])))


def rows_in(data: object, *, by_value: bool = True) -> Rows:
    """Return the rows of *data*, each as bytes, and how often it occurs."""
    rows = map(_valued, _rows(data)) if by_value else _rows(data)
    return Counter(map(_written, rows))


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


def _valued(row: Any) -> object:
    """Return *row* with each number as a float, if that is the same number."""
    if isinstance(row, list | tuple):
        return [_valued(one) for one in cast("Iterable[object]", row)]
    if isinstance(row, Mapping):
        members = cast("Mapping[object, object]", row)
        return {name: _valued(one) for name, one in members.items()}
    if hasattr(row, "tolist"):
        return _valued(row.tolist())
    if isinstance(row, bool) or not isinstance(row, int | float):
        return cast("object", row)
    try:
        number = float(row)
    except OverflowError:
        return row
    return row if number != row else number + 0.0  # of which -0.0 is 0.0


def _written(row: object) -> bytes:
    try:
        return canonical(encode(row))
    except ValueRefused:
        return repr(row).encode("utf-8", "backslashreplace")

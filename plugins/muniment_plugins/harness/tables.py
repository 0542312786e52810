"""Rows, columns and values of an experiment's data, whatever its type.

    [1, 2, 3]                rows            [[1, 2], [3, 4]]    rows with columns
    ([1, 2], [3, 4])         two tables      {"x": [1, 2]}       a table by columns
    numpy.array, DataFrame   a table

Rules:

- A tuple whose parts all have rows is a tuple of tables; a tuple whose parts have none
  is a list of rows; any other is refused, because it is unclear what its rows are.
- Results are new; the data stays as it was. Lists stay lists, arrays arrays.
- The default index of a DataFrame counts rows and is not data: it is renumbered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeGuard, cast

from muniment_plugins.harness.refusals import HarnessRefused

__all__ = [
    "Order",
    "map_part",
    "map_values",
    "refuse_data",
    "tables_of",
    "take",
    "take_columns",
    "values_of",
    "width_of",
]

Order = Callable[[int], list[int]]
"""Number of rows → the positions of the rows to take, in their new order."""


def take(data: object, order: Order, *, aligned: bool) -> object:
    """Return the rows of *data* that *order* takes.

    *order* is called for each table of a tuple, and once for the columns of one table.

    Raises:
        HarnessRefused: *data* has no rows, or tables to align differ in length.

    """
    if isinstance(data, Mapping):
        return _taken_columns(cast("Mapping[object, object]", data), order)
    tables = tables_of(data)
    if tables is None:
        return _taken(data, order(_length(data)))
    if aligned:
        _require_equal({_length(one) for one in tables if not _nests(one)})
    return tuple(take(one, order, aligned=aligned) for one in tables)


def tables_of(data: object) -> Sequence[object] | None:
    """Return the tables of a tuple; None if *data* is one table.

    Raises:
        HarnessRefused: some parts of the tuple have rows, and others have none.

    """
    if not isinstance(data, tuple) or not data:
        return None
    parts = cast("tuple[object, ...]", data)
    having = [_is_table(part) for part in parts]
    if any(having) and not all(having):
        kind = type(parts[having.index(False)]).__name__
        refuse_data(f"a value of type {kind} stands beside tables, and has no rows")
    return parts if all(having) else None


def take_columns(part: Any, positions: list[int]) -> object:
    """Return the table *part* with its columns at *positions*."""
    if hasattr(part, "iloc"):
        return part.iloc[:, positions]
    if hasattr(part, "num_columns"):
        return part.select(positions)
    if hasattr(part, "shape"):
        return part[:, positions]
    return _like(part, [_like(row, [row[at] for at in positions]) for row in part])


def width_of(part: object) -> int | None:
    """Return the number of columns of the table *part*; None if it has none."""
    shape = getattr(part, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) > 1 else None
    if not _is_rows(part) or not all(map(_is_rows, part)):
        return None
    widths = {len(cast("Sequence[object]", row)) for row in part}
    return widths.pop() if len(widths) == 1 else None


def map_part(data: Any, part: object, change: Callable[[Any], Any]) -> object:
    """Return *data* with *change* applied to its *part*; to all of it for None.

    Raises:
        HarnessRefused: *data* has no such part.

    """
    if part is None:
        return change(data)
    try:
        return _with_part(data, part, change)
    except (IndexError, KeyError, TypeError) as error:
        kind = type(data).__name__
        refuse_data(
            f"a value of type {kind} has no part {part!r} ({type(error).__name__})"
        )


def map_values(data: Any, change: Callable[[object], object], kinds: str) -> Any:
    """Return *data* with *change* applied to values; in arrays, to dtypes *kinds*."""
    if isinstance(data, Mapping):
        members = cast("Mapping[object, object]", data)
        return {key: map_values(one, change, kinds) for key, one in members.items()}
    if _is_rows(data):
        return _like(data, [map_values(one, change, kinds) for one in data])
    if hasattr(data, "iloc"):
        return _mapped_frame(data, change, kinds)
    if hasattr(data, "shape"):
        return _mapped_array(data, change, kinds)
    return change(data)


def values_of(data: Any) -> Iterable[object]:
    """Yield every value in *data*."""
    if isinstance(data, Mapping):
        for one in cast("Mapping[object, object]", data).values():
            yield from values_of(one)
    elif _is_rows(data):
        for one in data:
            yield from values_of(one)
    elif hasattr(data, "iloc"):
        for at in range(data.shape[1]):
            yield from data.iloc[:, at].tolist()
    elif hasattr(data, "reshape"):
        yield from data.reshape(-1).tolist()
    elif hasattr(data, "shape"):
        refuse_data(f"the values of a {type(data).__name__} cannot be told")
    else:
        yield data


def refuse_data(message: str) -> NoReturn:
    """Refuse data that a transform cannot use.

    Raises:
        HarnessRefused: always.

    """
    raise HarnessRefused(
        message,
        rule="harness/transform",
        place="the data",
        remedy="pass rows as lists, tuples, arrays or tables, or give a transform of "
        "your own",
    )


def _is_rows(part: object) -> TypeGuard[Sequence[object]]:
    return isinstance(part, list | tuple)


def _is_table(part: object) -> bool:
    if isinstance(part, Mapping):
        columns = cast("Mapping[object, object]", part).values()
        return bool(columns) and all(map(_is_table, columns))
    return _is_rows(part) or hasattr(part, "shape")


def _nests(part: object) -> bool:
    return isinstance(part, Mapping) or tables_of(part) is not None


def _length(part: object) -> int:
    if _is_rows(part):
        return len(part)
    shape = getattr(part, "shape", ())
    if not shape:
        refuse_data(f"a value of type {type(part).__name__} has no rows")
    return int(shape[0])


def _require_equal(lengths: set[int]) -> None:
    if len(lengths) > 1:
        counts = ", ".join(map(str, sorted(lengths)))
        refuse_data(f"parts of {counts} rows cannot stay aligned")


def _taken_columns(table: Mapping[object, object], order: Order) -> object:
    lengths = {_length(column) for column in table.values()}
    if not lengths:
        refuse_data("an empty mapping has no rows")
    _require_equal(lengths)
    positions = order(lengths.pop())
    return {name: _taken(column, positions) for name, column in table.items()}


def _taken(part: Any, positions: list[int]) -> object:
    if _is_rows(part):
        return _like(part, list(map(part.__getitem__, positions)))
    if hasattr(part, "iloc"):
        return _counted_anew(part, part.iloc[positions])
    return part.take(positions) if hasattr(part, "num_rows") else part[positions]


def _counted_anew(before: Any, after: Any) -> object:
    index = before.index
    counts = type(index).__name__ == "RangeIndex" and index.start == 0
    return after.reset_index(drop=True) if counts and index.step == 1 else after


def _like(part: object, items: list[object]) -> object:
    return tuple(items) if isinstance(part, tuple) else items


def _with_part(data: Any, part: Any, change: Callable[[Any], Any]) -> object:
    if isinstance(data, Mapping):
        members = cast("Mapping[object, object]", data)
        return {**members, part: change(members[part])}
    tables = tables_of(data)
    if tables is not None:
        parts = list(tables)
        parts[part] = change(parts[part])
        return tuple(parts)
    if hasattr(data, "iloc"):
        frame = data.copy()
        frame[part] = change(frame[part].tolist())
        if frame[part].dtype != data[part].dtype and frame[part].isna().any():
            frame[part] = frame[part].convert_dtypes()
        return frame
    if hasattr(data, "shape"):
        column = change(data[:, part])
        array = data.astype(column.dtype, order="C")
        array[:, part] = column
        return array
    column = change([row[part] for row in data])
    return _like(data, [_row(*one, part) for one in zip(data, column, strict=True)])


def _row(row: Sequence[object], value: object, at: int) -> object:
    items = list(row)
    items[at] = value
    return _like(row, items)


def _mapped_frame(frame: Any, change: Callable[[object], object], kinds: str) -> object:
    changed = frame.copy()
    for name, dtype in frame.dtypes.items():
        if dtype.kind in kinds:
            changed[name] = frame[name].map(change)
    return changed


def _mapped_array(array: Any, change: Callable[[object], object], kinds: str) -> object:
    if not hasattr(array, "dtype"):
        kind = type(array).__name__
        refuse_data(f"the values of a {kind} cannot be changed in place")
    if array.dtype.kind not in kinds:
        return array
    values = [change(one) for one in array.reshape(-1).tolist()]
    floats = array.dtype.kind in "iu" and any(type(one) is float for one in values)
    changed = array.astype("float64" if floats else array.dtype, order="C")
    try:
        changed.reshape(-1)[:] = values
    except OverflowError as error:
        refuse_data(f"{array.dtype} does not hold the new values ({error})")
    return changed

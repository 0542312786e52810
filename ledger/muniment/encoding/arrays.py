"""Arrays and tables as the bytes of their own formats, never as pickles.

    {"$ndarray": "<base64 of .npy>"}        numpy.ndarray
    {"$npscalar": "<base64 of .npy>"}       numpy.float64, numpy.datetime64, …
    {"$arrow": "<base64 of Arrow IPC>"}     pyarrow.Table
    {"$dataframe": "<base64 of Arrow IPC>"} pandas.DataFrame

Rules:

- Writing imports no package, since a program that has such a value has loaded its
  package already. Reading one imports its package.
- Columns and arrays of Python objects are refused: only pickle could carry them.
- Written bytes are read back at once and compared: a value that its format does not
  preserve (a trailing NUL in a NumPy string, a label that Arrow renames) is refused.

Formats: NEP 1 (``.npy``); Arrow columnar format, IPC streaming.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, cast

from muniment.errors import CannotTellError
from muniment.lazy import loaded

__all__ = ["ARRAYS_BY_TAG", "ArrayForm", "array_form"]


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """One tag: its package and class, and how its instances become bytes.

    `write` raises ValueError with the reason for an instance that has no form.
    """

    tag: str
    package: str
    cls: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], object]


def array_form(value: object) -> ArrayForm | None:
    """Return the form of *value*, if it is an array or a table."""
    for form in _FORMS:
        cls = loaded(form.package, form.cls)
        if cls is None:
            continue
        exact = type(value) is cls
        if exact or (form.tag == "$npscalar" and _is_scalar(value, cls)):
            return form
    return None


def _is_scalar(value: object, generic: type) -> bool:
    # NumPy's own scalar classes only: a user's subclass of one is in another module.
    return isinstance(value, generic) and type(value).__module__ == "numpy"


def _needs(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise CannotTellError(
            f"reading this value needs {package}",
            rule="value/package",
            remedy=f"install {package}",
        ) from error


def _write_npy(value: Any) -> bytes:
    numpy = _needs("numpy")
    array = numpy.asarray(value)
    if array.dtype.hasobject or array.dtype.metadata:
        raise ValueError(f"the dtype {array.dtype!r} needs more than numbers and text")
    if array.dtype.char in "gG":
        raise ValueError("long doubles differ between machines; use float64")
    buffer = io.BytesIO()
    numpy.lib.format.write_array(buffer, array, allow_pickle=False)
    data = buffer.getvalue()
    back = _read_npy(data)
    if (back.dtype, back.shape) != (array.dtype, array.shape) or (
        back.tobytes() != array.tobytes()
    ):
        raise ValueError(f"the dtype {array.dtype!r} does not survive .npy")
    return data


def _write_npscalar(value: Any) -> bytes:
    data = _write_npy(value)
    back = cast("Any", _read_npscalar(data))
    if type(back) is not type(value) or back.tobytes() != value.tobytes():
        raise ValueError("this scalar does not survive .npy")
    return data


def _read_npy(data: bytes) -> Any:
    numpy = _needs("numpy")
    buffer = io.BytesIO(data)
    array = numpy.lib.format.read_array(buffer, allow_pickle=False)
    if buffer.read(1):
        raise ValueError("bytes after the array")
    return array


def _read_npscalar(data: bytes) -> object:
    array = _read_npy(data)
    if array.shape != ():
        raise ValueError("an array where a scalar should be")
    return cast("object", array[()])


def _write_arrow(table: Any) -> bytes:
    pyarrow = _needs("pyarrow")
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = cast("bytes", sink.getvalue().to_pybytes())
    if _read_arrow(data).schema.equals(table.schema, check_metadata=True):
        return data
    raise ValueError("the schema does not survive Arrow IPC")


def _read_arrow(data: bytes) -> Any:
    pyarrow = _needs("pyarrow")
    buffer = pyarrow.BufferReader(data)
    with pyarrow.ipc.open_stream(buffer) as reader:
        table = reader.read_all()
    if buffer.read(1):
        raise ValueError("bytes after the table")
    table.validate(full=True)
    return table


def _write_frame(frame: Any) -> bytes:
    pandas, pyarrow = _needs("pandas"), _needs("pyarrow")
    for label, dtype in frame.dtypes.items():
        if dtype.kind == "O" and dtype.name == "object":
            raise ValueError(
                f"the column {label!r} holds Python objects; use"
                " frame.convert_dtypes(), or astype"
            )
    data = _write_arrow(pyarrow.Table.from_pandas(frame))
    back = cast("Any", _read_frame(data))
    try:
        pandas.testing.assert_frame_equal(
            back, frame, check_exact=True, check_column_type="exact"
        )
    except AssertionError as error:
        raise ValueError(f"the frame does not survive Arrow IPC: {error}") from None
    if back.attrs != frame.attrs:
        raise ValueError("frame.attrs do not survive Arrow IPC")
    return data


def _read_frame(data: bytes) -> object:
    _needs("pandas")
    return cast("object", _read_arrow(data).to_pandas())


_FORMS = (
    ArrayForm("$ndarray", "numpy", "ndarray", _write_npy, _read_npy),
    ArrayForm("$npscalar", "numpy", "generic", _write_npscalar, _read_npscalar),
    ArrayForm("$arrow", "pyarrow", "Table", _write_arrow, _read_arrow),
    ArrayForm("$dataframe", "pandas", "DataFrame", _write_frame, _read_frame),
)

ARRAYS_BY_TAG: Final[Mapping[str, ArrayForm]] = MappingProxyType(
    {form.tag: form for form in _FORMS}
)

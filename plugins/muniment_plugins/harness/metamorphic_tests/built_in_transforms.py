"""The transforms that every spec may name.

    permute_rows           another order of the rows; each table of a tuple has its own
    permute_rows_aligned   one other order for all tables or columns
    identity               the same again
    scale, shift           every number times ``factor``, plus ``by``
    duplicate_rows         every row ``times`` times
    drop_rows              without ``count`` rows
    add_noise              every number plus normal noise of deviation ``sd``
    relabel                the labels exchanged among themselves
    column_permute         another order of the columns

Rule: transforms that change values are loaded when a spec names one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from muniment_plugins.harness.metamorphic_tests.transforms import (
    Identity,
    Permute,
    PermuteAligned,
    Transform,
)
from muniment_plugins.harness.requirements import refuse_unknown

__all__ = ["BUILT_IN", "built_in"]

BUILT_IN: Mapping[str, str] = {
    "add_noise": "AddNoise",
    "column_permute": "ColumnPermute",
    "drop_rows": "DropRows",
    "duplicate_rows": "DuplicateRows",
    "identity": "Identity",
    "permute_rows": "Permute",
    "permute_rows_aligned": "PermuteAligned",
    "relabel": "Relabel",
    "scale": "Scale",
    "shift": "Shift",
}
"""The transforms that every spec may name, and their classes."""

_HERE: Mapping[str, Callable[..., Transform]] = {
    one.__name__: one for one in (Identity, Permute, PermuteAligned)
}


def built_in(name: str, arguments: Mapping[str, object], place: str) -> Transform:
    """Return the transform *name* with its *arguments*; refuse unknown arguments."""
    make = _HERE.get(BUILT_IN[name])
    if make is None:
        from muniment_plugins.harness.metamorphic_tests import alterations  # noqa: PLC0415 - when named

        make = cast("Callable[..., Transform]", getattr(alterations, BUILT_IN[name]))
    known = cast("Mapping[str, object]", getattr(make, "__dataclass_fields__", {}))
    refuse_unknown(arguments, known, f"{place}.arguments")
    return make(**arguments)

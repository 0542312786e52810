"""Whether a record has the fields that its table says, each in its form.

    misfit(record)      'stages[2].visit', or None

Rule: it is what the JSON Schema of a record says (`fields.record_schema`), without a
library for it: a view that does not fit is no view, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from muniment_plugins.workflow.records.contents import is_erased
from muniment_plugins.workflow.records.fields import FIELDS, FORMS

__all__ = ["misfit"]

Row = dict[str, Any]


def misfit(record: Row, form: str = "run", place: str = "") -> str | None:
    """Return the place of the first member of *record* that does not fit; None if all do."""
    for name in record.keys() - {one.name for one in FIELDS[form]}:
        return f"{place}{name}"
    for one in FIELDS[form]:
        if one.name not in record:
            if one.needed:
                return f"{place}{one.name}"
            continue
        found = _value(record[one.name], one.form, f"{place}{one.name}")
        if found is not None:
            return found
    return None


def _value(value: object, form: str, place: str) -> str | None:
    if form.startswith("["):
        return _items(value, form.strip("[]"), place)
    if form in FIELDS:
        fits = isinstance(value, dict)
        return misfit(cast("Row", value), form, f"{place}.") if fits else place
    return None if _FITS[form](value) else place


def _items(value: object, form: str, place: str) -> str | None:
    if not isinstance(value, list):
        return place
    for number, one in enumerate(cast("list[object]", value)):
        found = _value(one, form, f"{place}[{number}]")
        if found is not None:
            return found
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_content(value: object) -> bool:
    return isinstance(value, str) or is_erased(value)


def _is_whole(value: object) -> bool:
    return type(value) is int and value >= 0


def _matches(form: str) -> Callable[[object], bool]:
    full = re.compile(str(FORMS[form]["pattern"]).removeprefix("^").removesuffix("$"))
    return lambda value: isinstance(value, str) and full.fullmatch(value) is not None


def _is_one(form: str) -> Callable[[object], bool]:
    words = cast("list[str]", FORMS[form].get("enum") or [FORMS[form].get("const")])
    return lambda value: isinstance(value, str) and value in words


_FITS: Mapping[str, Callable[[object], bool]] = {
    "text": _is_text,
    "content": _is_content,
    "whole": _is_whole,
    "number": lambda value: type(value) in (int, float),
    "flag": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "anything": lambda _: True,
    "title": lambda value: value is None or _is_content(value),
    **{form: _matches(form) for form in ("time", "digest")},
    **{
        form: _is_one(form) for form, one in FORMS.items() if {"enum", "const"} & {*one}
    },
}

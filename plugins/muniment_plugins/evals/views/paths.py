"""Which paths a record has, by the table of its fields, and what can be asked of each.

    form_at("stages.check.verification.ok", at)    'flag'
    form_at("stages.check.verifcation.ok", at)     refused: did you mean verification?

Rules:

- What a record cannot have is refused when a suite is loaded: that it is missing would
  hold nothing. Below ``data``, ``metadata`` and other objects of users anything may be.
- An operator is refused where no value of that form could ever pass it, or all would.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment_plugins.evals.views.fields import ORDERS, UNORDERED, number_of
from muniment_plugins.evals.views.patterns import compiled, require_narrow
from muniment_plugins.evals.views.stage_keys import named_by
from muniment_plugins.workflow.records.fields import FIELDS, FORMS

__all__ = ["form_at", "require_sense"]

_FREE = ("anything", "object")
_NUMBERS = ("whole", "number")


def form_at(path: str, at: At) -> str:
    """Return the form of what *path* leads to, as the table of fields has it.

    Raises:
        UsageError: no record has such a path.

    """
    form, keys = "run", path.split(".")
    while keys:
        if form in _FREE:
            return "anything"
        if form.startswith("["):
            form = _item(form.strip("[]"), keys, at)
            continue
        key = keys.pop(0)
        fields = {one.name: one.form for one in FIELDS.get(form, ())}
        if not fields:
            raise at.wrong(
                f"nothing is below it: {key!r:.60}", "path", "end the path before it"
            )
        if key not in fields:
            raise at.wrong(
                f"no {form} of a record has {key!r:.60}", "path", near(key, fields)
            )
        form = fields[key]
    return form


def _item(form: str, keys: list[str], at: At) -> str:
    if keys[0].isdecimal():
        keys.pop(0)
        return form
    if form != "stage":
        raise at.wrong(
            f"{keys[0]!r:.60} is no number of an item", "path", "write 0 for the first"
        )
    del keys[: named_by(keys)]
    return form


def require_sense(said: Mapping[str, Any], at: At) -> None:
    """Refuse the assertion *said* about a field if it can hold nothing.

    Raises:
        UsageError: nothing, or everything, would pass it.

    """
    op, wanted = said["op"], said.get("expected")
    form = form_at(said["path"], at.key("path"))
    here = at.key("expected")
    if op in UNORDERED:
        _require_optional(said["path"], at.key("path"))
    elif op in ORDERS:
        _require_number(form, wanted, at)
    elif op == "matches":
        if not isinstance(wanted, str) or not wanted:
            raise here.wrong("it is no text", "type", "write a regular expression")
        require_narrow(compiled(wanted, "", here), here)
        _require_form(form, "a text", at)
    elif op.endswith("contains"):
        _require_part(form, wanted, here)
    else:
        _require_same(form, wanted, here)


def _require_optional(path: str, at: At) -> None:
    """Refuse a path that every record has: that it is there holds nothing."""
    form, keys = "run", path.split(".")
    for key in keys:
        known = {one.name: one for one in FIELDS.get(form, ())}
        if key not in known or not known[key].needed:
            return
        form = known[key].form
    raise at.wrong("every record has it", "asserts-nothing", "compare its value")


def _kind(form: str) -> str:
    """Return the type of what has *form*; empty if any may be there."""
    if form.startswith("["):
        return "a list"
    if form in FIELDS:
        return "an object"
    names = {
        **dict.fromkeys(_NUMBERS, "a number"),
        "flag": "true or false",
        "anything": "",
        "object": "an object",
    }
    return names.get(form, "a text")


def _kind_of(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else "an object"


def _require_form(form: str, wanted: str, at: At) -> None:
    if _kind(form) not in ("", wanted):
        raise at.key("op").wrong(
            f"what is there is {_kind(form)}, never {wanted}", "type", "choose another"
        )


def _require_number(form: str, wanted: Any, at: At) -> None:
    if number_of(wanted) is None:
        raise at.key("expected").wrong("it is no number", "type", "write a number")
    if form != "text":  # costs are decimal texts
        _require_form(form, "a number", at)


def _require_part(form: str, wanted: Any, at: At) -> None:
    if wanted == "" or isinstance(wanted, dict):
        raise at.wrong("everything contains it", "asserts-nothing", "ask for more")
    kind = _kind(form)
    if kind in ("a number", "true or false"):
        raise at.wrong(f"{kind} contains nothing", "type", "write another op")
    if kind in ("a text", "an object") and not isinstance(wanted, str):
        raise at.wrong(f"it is {_kind_of(wanted)}", "type", "write a text")


def _require_same(form: str, wanted: Any, at: At) -> None:
    kind = _kind(form)
    if kind not in ("", _kind_of(wanted)):
        raise at.wrong(
            f"it is {_kind_of(wanted)}, and what is there is {kind}",
            "type",
            f"write {kind}",
        )
    words = cast("list[str]", FORMS.get(form, {}).get("enum") or [])
    if words and wanted not in words:
        raise at.wrong(f"no {form} is {wanted!r:.60}", "enum", near(str(wanted), words))

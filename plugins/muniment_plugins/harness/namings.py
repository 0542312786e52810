"""Names the functions of a program as a plan named them, or as earlier editions would.

    {"import": "acme.steps:halve", "source": "sha256:…"}    recorded
    {"name": "acme:halve/1"}                                the same function, today

    {"import": "acme.steps:Halve"}                          recorded: the class alone
    {"import": "acme.steps:halve", "source": "sha256:…"}    the object, today

Rules:

- The recorded plan decides: if it has an import path that a plugin declares for a
  stable name, every fact describes that function as it was described then. Otherwise
  an unchanged program would differ from its record.
- Only the names of functions change; nothing else of a program does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from muniment.programs.functions import formerly
from muniment.programs.references import Function, Named, Remembered, naming, plain
from muniment.programs.stable_names import name_of
from muniment_plugins.harness.functions.recorded_functions import installed_names

if TYPE_CHECKING:
    from muniment_plugins.harness.experiment.plan import ExperimentPlan

__all__ = ["as_before", "as_named"]

P = TypeVar("P", bound="ExperimentPlan")
Row = Mapping[str, object]
_Called = Callable[[Function], "Row | None"]


def as_named(program: P, plan: Row) -> P:
    """Return *program* with its functions named as in *plan*."""
    known, called = installed_names(), dict[str, Row]()
    for row in _rows(plan):
        if "import" in row:
            found = known.of(row)
            called[str(row["import"]) if found is None else found.name] = naming(row)

    def recorded(function: Function) -> Row | None:
        path = name_of(function) or (formerly(function) or {}).get("import")
        return called.get(path or "")

    return _of_program(program, recorded) if called else program


def as_before(program: P) -> P:
    """Return *program* with the import paths that stable names replaced."""
    known = installed_names()

    def before(function: Function) -> Row | None:
        stable = name_of(function)
        if stable is not None:
            said = cast("Row", known.before({"name": stable}))
            return said if "import" in said else None
        return formerly(function)

    return _of_program(program, before)


def _rows(value: object) -> Iterator[Row]:
    if isinstance(value, Mapping):
        yield cast("Row", value)
        for one in cast("Row", value).values():
            yield from _rows(one)
    elif isinstance(value, list | tuple):
        for one in cast("list[object]", value):
            yield from _rows(one)


def _of_program(program: P, called: _Called) -> P:
    return replace(
        program,
        pipeline=type(program.pipeline)(
            _renamed(one, called) for one in program.pipeline
        ),
        datasource=_renamed(program.datasource, called),
        hypotheses=_renamed(program.hypotheses, called),
        treatments=_renamed(program.treatments, called),
        context=_renamed(program.context, called),
    )


def _renamed(value: Any, called: _Called) -> Any:
    """Return a part of a program with its functions renamed; the same if none is."""
    if isinstance(value, Remembered):
        return value  # it is described as it was recorded
    if callable(value):
        bare = plain(value)
        # Steps are callable too; a function that a user gave is `Named`, or has a name.
        named = isinstance(value, Named) or name_of(bare) is not None
        described = called(bare) if named else None
        if described is not None:
            return Named(bare, described, settled=True)
    if isinstance(value, Mapping):
        rows = cast("Row", value)
        told = {name: _renamed(one, called) for name, one in rows.items()}
        same = all(told[name] is one for name, one in rows.items())
        return rows if same else told
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        found = tuple(_renamed(one, called) for one in parts)
        same = all(a is b for a, b in zip(parts, found, strict=True))
        return parts if same else found
    if is_dataclass(value) and not isinstance(value, type):
        return _members(value, called)
    return value


def _members(value: Any, called: _Called) -> Any:
    changed: dict[str, object] = {}
    for one in fields(value):
        before = getattr(value, one.name)
        after = _renamed(before, called)
        if after is not before:
            changed[one.name] = after
    return replace(value, **changed) if changed else value

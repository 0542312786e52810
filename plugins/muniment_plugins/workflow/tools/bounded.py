"""Values held to JSON Schema in a bounded number of steps, whoever wrote the schema.

    faults_in(library, schema, value)       the errors, or StepsTaken, or TooDeepError

Rules:

- Each place of a text that a regular expression is followed to is a step (`patterns`), and
  each keyword that is applied is a few. A long value may take more of them. So neither an expression, nor references that
  double, nor a list whose items are compared hold up a program.
- A keyword within another one is applied up to `_DEEPEST` deep: a schema that leads back
  to itself ends there, and not where the caller's stack happens to end, of which parts of
  the library that are not written in Python panic.
- Both depend on schema and value alone: a replay refuses what was refused.
- A schema whose expressions have no bound is refused as a schema.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeAlias

from muniment.encoding.canonical import JsonValue, canonical
from muniment_plugins.workflow.tools.patterns import (
    STEPS,
    Steps,
    found_in,
    pattern_fault,
)
from muniment_plugins.workflow.tools.references import SchemaFault, schemas_in

__all__ = ["TooDeepError", "faults_in", "unbounded"]

_Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterator[Any] | None]
_STEPS: ContextVar[Steps] = ContextVar("muniment_schema_steps")
_DEPTH: ContextVar[int] = ContextVar("muniment_schema_depth", default=0)
_DEEPEST = 150
"""Keywords within each other; each takes up to four frames of a stack of a thousand."""
_KEYWORD = 40
"""Steps that are as long as applying a keyword."""
_PER_BYTE = 80
"""Further steps for each byte of a value: what is held once may be long."""
_PAIRS = 8
"""Comparisons of two items that are as long as a step."""


class TooDeepError(Exception):
    """Keywords nest too deep: the schema leads back to itself, or the value is deep."""


def unbounded(schema: JsonValue) -> SchemaFault | None:
    """Return the first thing in *schema* that is not held in bounded time; None if all is."""
    evaluated = False
    by_pattern: tuple[str, ...] | None = None
    for way, one in schemas_in(schema):
        patterns = one.get("patternProperties")
        named = list(patterns) if isinstance(patterns, dict) else []
        own = one.get("pattern")
        for key, pattern in [
            *(("patternProperties", found) for found in named),
            *([("pattern", own)] if isinstance(own, str) else []),
        ]:
            fault = pattern_fault(pattern)
            if fault:
                message = f"the pattern {pattern!r:.60} is not matched: {fault}"
                return SchemaFault(".".join((*way, key)), message)
        if way and "$schema" in one:
            return SchemaFault(".".join((*way, "$schema")), "it names a dialect again")
        evaluated = evaluated or "unevaluatedProperties" in one
        by_pattern = way if named and by_pattern is None else by_pattern
    if evaluated and by_pattern is not None:
        place = ".".join((*by_pattern, "patternProperties"))
        return SchemaFault(place, "it is not checked beside unevaluatedProperties")
    return None


def faults_in(library: Any, schema: JsonValue, value: JsonValue) -> list[Any]:
    """Return the errors of *value* under *schema*, which has no fault itself.

    Raises:
        StepsTaken: it takes more steps than a check may take.
        TooDeepError: it nests too deep.

    """
    whole = schema
    if isinstance(schema, dict):  # jsonschema would look up another validator by it
        whole = {name: one for name, one in schema.items() if name != "$schema"}
    token = _STEPS.set(Steps(STEPS + _PER_BYTE * len(canonical(value))))
    try:
        return list(_validator(library)(whole).iter_errors(value))
    finally:
        _STEPS.reset(token)


@cache
def _validator(library: Any) -> Callable[[JsonValue], Any]:
    own = {
        "additionalProperties": _additional,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique(library.Draft202012Validator.VALIDATORS["uniqueItems"]),
    }
    known = library.Draft202012Validator.VALIDATORS | own
    counted = {name: _counted(one) for name, one in known.items()}
    made = library.validators.extend(library.Draft202012Validator, counted)
    registry: Any = importlib.import_module("referencing").Registry
    return lambda schema: made(schema, registry=registry())


def _counted(keyword: _Keyword) -> _Keyword:
    def counted(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        _STEPS.get().take(_KEYWORD)
        depth = _DEPTH.get()
        if depth >= _DEEPEST:
            raise TooDeepError
        found = iter(keyword(validator, said, value, schema) or ())
        while True:  # between two errors somebody else may go on, at another depth
            _DEPTH.set(depth + 1)
            try:
                one = next(found, None)
            finally:
                _DEPTH.set(depth)
            if one is None:
                return
            yield one

    return counted


def _error(message: str) -> Any:
    return importlib.import_module("jsonschema").ValidationError(message)


def _pattern(validator: Any, said: str, value: Any, _: Any) -> Iterator[Any]:
    if validator.is_type(value, "string") and not found_in(said, value, _STEPS.get()):
        yield _error(f"{value!r} does not match {said!r}")


def _pattern_properties(
    validator: Any, said: Mapping[str, Any], value: Any, _: Any
) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, below in said.items():
        for name, one in value.items():
            if found_in(pattern, name, _STEPS.get()):
                yield from validator.descend(one, below, path=name, schema_path=pattern)


def _additional(
    validator: Any, said: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    named = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    steps = _STEPS.get()
    more = [
        name
        for name in value
        if name not in named and not any(found_in(one, name, steps) for one in patterns)
    ]
    if validator.is_type(said, "object"):
        for name in more:
            yield from validator.descend(value[name], said, path=name)
    elif not said and more:
        verb = "was" if len(more) == 1 else "were"
        names = ", ".join(repr(one) for one in sorted(more))
        yield _error(
            f"Additional properties are not allowed ({names} {verb} unexpected)"
        )


def _unique(keyword: _Keyword) -> _Keyword:
    def unique(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(value, "array"):
            size = len(value)
            plain = not any(isinstance(one, dict | list) for one in value)
            steps = size if plain else size * size // _PAIRS
            _STEPS.get().take(steps)
        yield from keyword(validator, said, value, schema) or ()

    return unique

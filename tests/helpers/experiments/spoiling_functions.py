"""Functions of experiments that change whatever they are given, at once and later.

    SPOILED.begin("list")        which kind of value is given, and what was seen of it

Rules: every function says what it sees before it changes it, keeps a reference, and
changes what it kept each time that any of them is called again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped] # no stubs are installed

from muniment.encoding.canonical import canonical
from muniment.encoding.codec import encode
from muniment_plugins.harness import Claim, Spec, pipeline_step

__all__ = [
    "CODE",
    "KINDS",
    "SPOILED",
    "altered",
    "asked",
    "content",
    "copied",
    "judged",
    "proposed",
    "returning",
    "rows",
    "spoiling",
    "treated",
]

CODE = "def fit_and_eval(data): return {'n': 1, 'words': ['a']}"


def _append(value: Any) -> None:
    value.append(99)


def _inner(value: Any) -> None:
    value[0].append(99)


def _set_item(value: Any) -> None:
    value["x"] = 99


def _map(value: Any) -> None:
    value[2].append(99)


def _add(value: Any) -> None:
    value.add(99)


def _array(value: Any) -> None:
    value[0] = 99


def _index(value: Any) -> None:
    numbers = value.index.values  # noqa: PD011 - not a copy
    with suppress(ValueError):  # memory that Arrow owns
        numbers.setflags(write=True)
        numbers[0] += 1


def _frame(value: Any) -> None:
    value["x"] = 99


def _twice() -> object:
    row = [1, 2]
    return [row, row]


def _view() -> object:
    whole = np.arange(12.0).reshape(4, 3)
    return {"whole": whole, "part": whole[1:3]}


_RECORD = [("x", "i4"), ("y", "f8")]

KINDS: Mapping[str, tuple[Callable[[], object], Callable[[Any], None]]] = {
    "list": (lambda: [1, 2, 3], _append),
    "long list": (lambda: list(range(20_000)), _append),
    "floats": (lambda: [1.0, 2.5, -0.0], _append),
    "rows": (lambda: [[1, 2], [3, 4]], _inner),
    "a row twice": (_twice, _inner),
    "tables": (lambda: ([1, 2], [3, 4]), _inner),
    "columns": (lambda: {"x": [1, 2], "y": [3, 4]}, _set_item),
    "a column of columns": (
        lambda: {"x": [1], "y": [3]},
        lambda value: value["x"].append(99),
    ),
    "a map": (lambda: {2: [1], "b": [2]}, _map),
    "a set": (lambda: {1, 2}, _add),
    "records": (lambda: [{"x": 1}, {"x": 2}], lambda value: _set_item(value[0])),
    "array": (lambda: np.array([1.0, 2.0, 3.0]), _array),
    "columns of an array": (lambda: np.asfortranarray(np.ones((3, 2))), _array),
    "a strided array": (lambda: np.arange(12)[::3], _array),
    "arrays in a tuple": (
        lambda: (np.ones((2, 2)), np.zeros(2)),
        lambda value: _array(value[0]),
    ),
    "a view beside its array": (_view, lambda value: _array(value["whole"])),
    "a structured array": (
        lambda: np.array([(1, 2.0)], dtype=_RECORD),
        lambda value: _set_item(value[0]),
    ),
    "a structured scalar": (
        lambda: np.array([(1, 2.0)], dtype=_RECORD)[0],
        _set_item,
    ),
    "a frame": (lambda: pd.DataFrame({"x": [1, 2], "y": [3.0, 4.0]}), _frame),
    "values of a frame": (
        lambda: pd.DataFrame({"x": [1, 2]}),
        lambda value: value.__setitem__("x", value["x"] * 2),
    ),
    "index of a frame": (
        lambda: pd.DataFrame({"x": [1, 2]}, index=pd.Index([7, 8])),
        _index,
    ),
}
"""Kind → a value of it, and how it is changed in place."""


class Spoiled:
    """Which kind of value is given, what was seen of it, and what was kept."""

    def begin(self, kind: str) -> None:
        """Start anew, with values of *kind*."""
        self.make, self.change = KINDS[kind]
        self.seen: dict[str, set[bytes]] = {}
        self.values: list[object] = []
        self.results: list[Any] = []

    def value(self) -> object:
        """Return a value, which changes whenever a function is called."""
        self.values.append(self.make())
        return self.values[-1]

    def look(self, place: str, value: object) -> None:
        """Say what *value* is at *place*, and change it and all others."""
        self.seen.setdefault(place, set()).add(content(value))
        self.values.append(value)
        self.change_all()

    def change_all(self) -> None:
        """Change whatever was given to functions, and what they returned."""
        for value in self.values:
            self.change(value)
        for result in self.results:
            result.clear()


SPOILED = Spoiled()


def content(value: object) -> bytes:
    """Return *value* as a record holds it."""
    return canonical(encode(value))


def _spoil(place: str, ctx: Mapping[str, Any]) -> None:
    """Change what the context holds."""
    for name in ("data", "mine", "changed"):
        if ctx.get(name) is not None:
            SPOILED.look(f"{place}: ctx, {name}", ctx[name])
    for name in ("metrics", "outputs"):
        if ctx.get(name):
            ctx[name].clear()


def _result(members: dict[str, object]) -> dict[str, object]:
    """Return *members*, which are gone when the next function is called."""
    SPOILED.results.append(members)
    return members


def rows(ctx: Mapping[str, Any]) -> object:
    """Return data that the datasource keeps."""
    _spoil("datasource", ctx)
    return SPOILED.value()


def treated(ctx: Mapping[str, Any]) -> object:
    """Return changes that the treatment keeps."""
    _spoil("treatment", ctx)
    return _result({"changed": SPOILED.value()})


@pipeline_step
def spoiling(data: Any, ctx: Mapping[str, Any], mine: Any, given: Any) -> object:
    """Change everything, and return data as it was given."""
    SPOILED.look("step: data", data)
    SPOILED.look("step: value of the context", mine)
    SPOILED.look("step: parameter", given)
    _spoil("step", ctx)
    return SPOILED.value(), _result({"m": [1]})


@pipeline_step
def returning(data: Any) -> object:
    """Change the data in place, and return it."""
    SPOILED.look("second step: data", data)
    return data


@pipeline_step
def copied(data: Any) -> object:
    """Return the very data, as a copy."""
    return [*data]


def proposed(claim: Claim, data: Any, ctx: Mapping[str, Any]) -> object:
    """Change what a model is given, and return a spec."""
    del claim
    SPOILED.look("model: data", data)
    _spoil("model", ctx)
    turn = {"name": "turn", "transform": "turn", "metric": "n"}
    return _result({"allowed_imports": ["numpy", "pandas"], "properties": [turn]})


def asked(claim: Claim, spec: Spec, ctx: Mapping[str, Any]) -> object:
    """Change what a model is given, and return the code."""
    del claim, spec
    _spoil("model", ctx)
    return CODE


def altered(data: Any) -> object:
    """Change what a transform is given, and return other data."""
    SPOILED.look("transform: data", data)
    return {"other": "data"}


def judged(before: Any, now: Any, *, given: Any) -> object:
    """Change what was measured, after it was judged."""
    SPOILED.look("verifier: setting", given)
    seen = sorted(now), sorted(now.rows[0]), sorted(before)
    for samples in (before, now):
        for values in samples.rows.values():
            values.clear()
        samples.clear()
    return _result({"passed": True, "seen": [*seen]})

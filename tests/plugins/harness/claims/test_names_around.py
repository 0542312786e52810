"""A function whose names of builtins are not the builtins is not called from its source."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import CannotTellError
from muniment.programs.references import Function, describe_program, named
from muniment_plugins.harness.functions.recorded_functions import Sources
from muniment_plugins.harness.functions.recorded_source import Sourced, Trusted

NAMES = sorted(
    name
    for name in vars(builtins)
    if name.isidentifier() and not name.startswith("_") and name[0].islower()
)
BINDINGS = {
    "imported": "from operator import add as NAME\n",
    "by a star": "from others_NAME import *\n",
    "assigned": "NAME = (1).__add__\n",
    "defined": "def NAME(*given): return 7\n",
    "a class": "class NAME: pass\n",
    "after it": "",
}
USES = {
    "called": "def check(one, other): return {'passed': NAME(one) < 7}\n",
    "held": "def check(one, other):\n    f = NAME\n    return {'passed': f is not None}\n",
    "in a function": "def check(one, other):\n    return {'passed': (lambda: NAME)()}\n",
    "in a comprehension": "def check(one, other): return [NAME for _ in one]\n",
    "as a default": "def check(one, other, *, by=NAME): return {'passed': by(one)}\n",
}
UNUSED = {
    "a parameter": "def check(one, NAME): return {'passed': NAME(one)}\n",
    "its own": "def check(one, other):\n    NAME = 1\n    return {'passed': NAME}\n",
    "an attribute": "def check(one, other): return {'passed': one.NAME}\n",
    "an import": (
        "def check(one, other):\n    from math import pi as NAME\n    return NAME\n"
    ),
}


class Program:
    """A program that was given one function."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, run: object) -> None:
        """Do nothing."""

    def functions_given(self) -> list[Function]:
        """Return it, as the start of a run names it."""
        return [self.function]


def recorded(place: Path, text: str) -> tuple[Mapping[str, object], Sources]:
    """Return how a run names ``check`` in *text*, and what is left once that is gone."""
    file = place / "checked_here.py"
    file.write_text(text)
    importlib.invalidate_caches()
    module = importlib.import_module("checked_here")
    try:
        function = named(module.check)
        rows = cast("list[Mapping[str, object]]", described(function)["functions"])
        known = {name: rows[0][name] for name in ("import", "source")}
        source = text[text.index("def check") :]
        source = source[: source.find("\n\n") + 1] if "\n\n" in source else source
        return known, Sources({str(known["source"]): source}, files=tuple(rows))
    finally:
        del sys.modules["checked_here"]
        file.unlink()
        for one in place.glob("__pycache__/checked_here.*"):
            one.unlink()


def described(function: Function) -> dict[str, object]:
    """Return how a run describes a program that was given *function*."""
    program = Program(function)
    return {"functions": describe_program(program)["functions"]}


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder that modules are imported from."""
    folder = tmp_path_factory.mktemp("modules")
    sys.path.insert(0, str(folder))
    return folder


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(NAMES),
    st.sampled_from(sorted(BINDINGS)),
    st.sampled_from(sorted(USES)),
)
def test_name_of_a_builtin_that_the_module_binds(
    place: Path, name: str, binding: str, use: str
) -> None:
    """However it is bound and used: from its source alone it cannot be called again."""
    # A file for each name: one that is written twice in a second, at the same size, is read
    # from the bytecode of the first.
    (place / f"others_{name}.py").write_text(f"def {name}(*given): return 7\n")
    after = (
        f"\n\n{name} = 7\n" if binding == "after it" and use != "as a default" else ""
    )
    text = BINDINGS[binding] + USES[use] + after
    if binding == "after it" and not after:
        text = BINDINGS["assigned"] + text
    known, left = recorded(place, text.replace("NAME", name))
    with pytest.raises(CannotTellError, match="check"):
        left.recall(known)
    with pytest.raises(CannotTellError, match="check"):
        Sources(left.texts, True, files=left.files).recall(known)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NAMES), st.sampled_from(sorted({**USES, **UNUSED})))
def test_builtins_themselves_are_no_need(place: Path, name: str, use: str) -> None:
    """A function that has the builtin, or the name for itself, is called from its source."""
    text = {**USES, **UNUSED}[use].replace("NAME", name)
    if use in UNUSED:
        text = f"{name} = 7\n{text}"
    known, left = recorded(place, text)
    assert isinstance(left.recall(known), Sourced)
    assert isinstance(
        Sources(left.texts, True, files=left.files).recall(known), Trusted
    )


@pytest.mark.parametrize("name", ["__name__", "__file__", "__doc__", "__builtins__"])
def test_name_that_each_module_has_for_itself(place: Path, name: str) -> None:
    """The module of the recorded source is not that of the function: also in old records."""
    text = f"def check(one, other): return {{'passed': {name}}}\n"
    known, left = recorded(place, text)
    with pytest.raises(CannotTellError, match="check"):
        Sources(left.texts).recall(known)


def test_name_that_an_enclosing_function_binds(place: Path) -> None:
    """A closure over the name of a builtin is bound around the function, too."""
    text = (
        "def made(max):\n"
        "    def check(one, other): return {'passed': max(one)}\n"
        "    return check\n"
        "check = made(lambda given: 1000)\n"
    )
    (place / "closures_here.py").write_text(text)
    importlib.invalidate_caches()
    function = named(importlib.import_module("closures_here").check)
    (row,) = cast("list[Mapping[str, object]]", described(function)["functions"])
    assert row["around"] == ["max"]

"""What packages would do for a program, in its child, without validator or walls."""

from __future__ import annotations

import pytest

from muniment_plugins.capsule import Capsule, Execution, Policy
from muniment_plugins.capsule.validation import Validated

PLAN = (
    "enum",
    "numpy",
    "pandas",
    "scipy.optimize",
    "sklearn.pipeline",
    "sklearn.utils",
)
HEAD = """
import enum
import numpy as np
import pandas as pd
from scipy.optimize import OptimizeResult
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch
table = pd.DataFrame({"a": [1, 2]})
limit = 1
"""
TABLE = "{'__array_interface__': {'data': (0, True), 'shape': (1,), 'typestr': '|u1'}}"


class Unread(Capsule):
    """Runs what it has not read."""

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Return the program with a fixed plan."""
        return Validated(code, entrypoint, PLAN)


def run(expression: str) -> Execution:
    """Evaluate *expression* inside a program."""
    code = f"{HEAD}\ndef fit_and_eval(data):\n    return {{'v': repr({expression})}}\n"
    return Unread(Policy(allowed_imports=PLAN, time_s=5)).run(code, None)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("len(table.query('a > @limit'))", "1"),
        ("table.agg('sum').a.item()", "3"),
        ("table.groupby('a').agg('size').tolist()", "[1, 1]"),
        ("Bunch(x=1).x", "1"),
        ("OptimizeResult(x=1).x", "1"),
        ("table.a.tolist()", "[1, 2]"),
        ("enum.Enum('E', ['A']).A.name", "'A'"),
    ],
)
def test_packages_do_what_they_are_for(expression: str, value: str) -> None:
    """Queries, names of methods and attributes of tables work as ever."""
    execution = run(expression)
    assert (execution.error, execution.metrics) == (None, {"v": value})


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("table.query('a > @len.__self__.x')", "AttributeError"),
        ("table.query('a > @__builtins__')", "AttributeError"),
        ("table.query('a > 1', level=2)", "TypeError"),
        ("table.agg('to_csv', 0, '/x')", "AttributeError"),
        ("table.a.agg('__getattribute__', 0, 'x')", "AttributeError"),
        ("table.groupby('a').agg('__class__')", "AttributeError"),
        ("make_pipeline('passthrough', memory='/x').fit([[1]])", "PermissionError"),
        ("enum.Enum('E', {'__del__': 1})", "AttributeError"),
    ],
)
def test_packages_do_nothing_else_for_a_program(expression: str, kind: str) -> None:
    """What is forbidden to a program is so to whoever looks names up for it."""
    execution = run(expression)
    assert execution.error is not None
    assert execution.error["type"] == kind


@pytest.mark.parametrize(
    "expression",
    [f"Bunch(**{TABLE})", f"OptimizeResult({TABLE})", f"pd.Series({TABLE})"],
)
def test_entries_of_tables_are_no_hooks(expression: str) -> None:
    """NumPy finds no memory through an entry that is named like its protocol."""
    execution = run(f"np.asarray({expression}).dtype.kind")
    assert (execution.error, execution.metrics) == (None, {"v": "'O'"})

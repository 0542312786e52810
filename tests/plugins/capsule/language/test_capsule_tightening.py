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
path = "/x"
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


SCORER = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer
class Own(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self
    def predict(self, X):
        return X
got = []
def kept(y, found):
    got.append(found)
    return 1.0
def fit_and_eval(name):
    own = Own().fit(None, None)
    make_scorer(kept, response_method=[name])(own, np.array([0, 1]), np.array([0, 1]))
    return {"got": len(got)}
"""


@pytest.mark.parametrize(
    "name", ["__getattribute__", "__reduce_ex__", "__init__", "__sklearn_tags__"]
)
def test_a_scorer_asks_for_no_method_that_a_program_could_not_name(name: str) -> None:
    """What scikit-learn looks up by a text goes by the tables of ``getattr``."""
    execution = Capsule(Policy(allowed_imports=("numpy", "sklearn"))).run(SCORER, name)
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/refused"


def test_a_scorer_asks_for_methods_that_predict() -> None:
    """The control: an ordinary name is looked up, and its answer handed on."""
    capsule = Capsule(Policy(allowed_imports=("numpy", "sklearn")))
    execution = capsule.run(SCORER, "predict")
    assert (execution.error, execution.metrics) == (None, {"got": 1})


@pytest.mark.parametrize(
    "expression",
    [
        'table.query("a.to_" + "csv(@path)")',
        "table.query('a.__redu' + 'ce_ex__(2)')",
        'table.query("a.values.to" + "file(@path)")',
        "table.query('a._const' + 'ructor(1)')",
    ],
)
def test_a_query_calls_what_a_program_could_call(expression: str) -> None:
    """The name of a method that is called is looked at as any other one."""
    execution = run(expression)
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/refused"


def test_a_query_calls_ordinary_methods() -> None:
    """The control: methods of columns and of texts are called as ever."""
    execution = run("len(table.query('a.isin([1]) and a.abs() < 2'))")
    assert (execution.error, execution.metrics) == (None, {"v": "1"})


FIELDS = """
import dataclasses
@dataclasses.dataclass
class Point:
    x: int = 0
def fit_and_eval(data):
    field = dataclasses.fields(Point)[0]
    {}
    return {{"x": field.name}}
"""


@pytest.mark.parametrize(
    "statement",
    [
        "field.name = 'y'",
        "field.type = str",
        "setattr(field, 'name', 'y')",
        "list(map(setattr, [field], ['name'], ['y']))",
        "del field.name",
    ],
)
def test_fields_of_dataclasses_are_read_only(statement: str) -> None:
    """What `dataclasses` runs text of is what it made itself."""
    capsule = Capsule(Policy(allowed_imports=("dataclasses",)))
    execution = capsule.run(FIELDS.format(statement), None)
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/refused"
    assert capsule.run(FIELDS.format("pass"), None).metrics == {"x": "x"}

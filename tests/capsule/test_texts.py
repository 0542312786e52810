"""A text of a program's reaches nothing through a package that the program may not."""

from __future__ import annotations

import pytest

from attack_modes import Unwalled
from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule.child.generated_code import EXECUTING
from muniment_plugins.capsule.child.package_guards import (
    BY_EXPRESSION,
    BY_NAME,
    BY_PATH,
)
from texts import REVIEWED, sites

TIGHTENED = {
    "import": frozenset[str](),
    "name": frozenset({*BY_NAME, *BY_EXPRESSION}),
    "open": frozenset(BY_PATH),
    "run": frozenset(EXECUTING),
}

HEAD = """
import numpy as np
import pandas as pd
from scipy import optimize, sparse, stats
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
index = pd.date_range("2000-01-01", periods=6, freq="h")
table = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, 6], "k": [1, 1, 2, 2, 3, 3]}, index=index)
hours, keys = table.resample("2h"), table.groupby("k")
X, y = np.arange(12.0).reshape(6, 2) ** 2, np.arange(6.0)
options = pd.options.plotting

def fit_and_eval(text):
    return {"v": str(EXPRESSION)}
"""
EXPRESSIONS = {
    "agg": ("table.agg(text)", "sum"),
    "apply": ("table.apply(text)", "sum"),
    "column agg": ("table.a.agg(text)", "mean"),
    "column apply": ("table.a.apply(text)", "mean"),
    "column transform": ("table.a.transform(text)", "cumsum"),
    "computed": ("getattr(table, text)", "shape"),
    "crosstab": ("pd.crosstab(table.k, table.k, values=table.a, aggfunc=text)", "sum"),
    "cvm": ("stats.cramervonmises(y, text)", "norm"),
    "dtypes": ("table.select_dtypes(text)", "float64"),
    "expanding": ("table.expanding().agg(text)", "sum"),
    "expression": ("table.assign(z=getattr(pd.col('a'), text)())", "abs"),
    "flags": ("table.flags[text]", "allows_duplicate_labels"),
    "groups": ("keys.agg(text)", "sum"),
    "groups apply": ("keys.apply(text)", "mean"),
    "groups column": ("keys.a.agg(text)", "sum"),
    "groups named": ("keys.agg(n=('a', text))", "sum"),
    "groups transform": ("keys.transform(text)", "cumsum"),
    "hours": ("hours.agg(text)", "sum"),
    "hours apply": ("hours.apply(text)", "mean"),
    "hours by column": ("hours.agg({'a': [text]})", "sum"),
    "hours of groups": ("keys.resample('2h').apply(text)", "mean"),
    "hours transform": ("hours.transform(text)", "mean"),
    "importance": (
        "SelectFromModel(LinearRegression(), importance_getter=text).fit(X, y).transform(X)",
        "coef_",
    ),
    "kstest": ("stats.kstest(y, text)", "norm"),
    "parameter": (
        "make_pipeline(LinearRegression()).set_params(**{text: None})",
        "memory",
    ),
    "pivot": ("table.pivot_table(index='k', aggfunc=text, margins=True)", "sum"),
    "plot": ("[table.plot(backend=text)] if text != 'none' else 1", "none"),
    "plot option": (
        "[setattr(options, 'backend', text)] if text != 'none' else 1",
        "none",
    ),
    "probplot": ("stats.probplot(y, dist=text)[1][1]", "norm"),
    "query": ("table.query('a > ' + text)", "1"),
    "query of locals": ("table.query('a > @' + text)", "index.size"),
    "ranking": ("RFE(LinearRegression(), importance_getter=text).fit(X, y)", "coef_"),
    "rolling": ("table.rolling(2).agg(text)", "sum"),
    "sparse": ("sparse.eye(3).asformat(text)", "csr"),
}
"""Ways through packages, each with a text that does no harm."""

TEXTS = (
    *("__class__", "__init__", "__reduce__", "_mgr", "_constructor", "_grouper"),
    *("a.__class__", "__import__", "@pd.io", "to_pickle", "gi_frame", "os"),
)
"""Data model, interpreter, private parts, modules and writers: for no text to reach."""

SURELY = frozenset(
    {"__class__", "__init__", "__reduce__", "_mgr", "gi_frame", "to_pickle"}
)


@pytest.fixture(scope="module")
def capsule() -> Capsule:
    """Give the tests a capsule whose language layer stands alone."""
    packages = ("numpy", "pandas", "scipy", "sklearn")
    return Unwalled(Policy(allowed_imports=packages, time_s=10))


@pytest.mark.slow
@pytest.mark.parametrize("package", ["numpy", "pandas", "scipy", "sklearn"])
def test_every_way_of_a_text_into_a_package_is_known(package: str) -> None:
    """A version that brings another module that looks up by text fails here."""
    unknown = {
        f"{kind} {module}: {', '.join(sorted(set(where)))}"
        for kind, modules in sites(package).items()
        for module, where in modules.items()
        if module not in TIGHTENED[kind] | REVIEWED[kind]
    }
    remedy = (
        "read each function: where a program chooses the text, name the module in "
        "tightening.py; where the package does, list it in tests/helpers/capsules/texts.txt"
    )
    assert not unknown, remedy


@pytest.mark.parametrize("way", EXPRESSIONS)
def test_a_text_that_does_no_harm_passes(way: str, capsule: Capsule) -> None:
    """The control: the way is one, and does with a harmless text what it is for."""
    expression, harmless = EXPRESSIONS[way]
    execution = capsule.run(HEAD.replace("EXPRESSION", expression), harmless)
    assert (execution.error, execution.status) == (None, "ok")


@pytest.mark.slow
@pytest.mark.parametrize("way", EXPRESSIONS)
def test_a_forbidden_text_reaches_nothing(way: str, capsule: Capsule) -> None:
    """It is refused, or means nothing there; nobody gets what it names."""
    code = HEAD.replace("EXPRESSION", EXPRESSIONS[way][0])
    ended = {text: capsule.run(code, text) for text in TEXTS}
    assert [text for text, one in ended.items() if one.status == "ok"] == []
    rules = {text: (one.error or {})["rule"] for text, one in ended.items()}
    assert set(rules.values()) <= {"capsule/refused", "capsule/raised"}
    if way in ("agg", "groups", "hours", "computed", "column agg"):
        assert {rules[text] for text in SURELY} == {"capsule/refused"}


@pytest.mark.parametrize("way", ["plot", "plot option"])
def test_no_module_is_imported_by_its_name_in_a_text(
    way: str, capsule: Capsule
) -> None:
    """A backend for plots would be any module: it is refused before it is loaded."""
    code = HEAD.replace("EXPRESSION", EXPRESSIONS[way][0])
    execution = capsule.run(code, "antigravity")
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/refused"

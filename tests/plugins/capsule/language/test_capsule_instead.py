"""Whoever is refused is told what to write instead, and that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment_plugins.capsule import Capsule, Policy, ProgramRefused
from muniment_plugins.capsule.execution import Execution
from muniment_plugins.capsule.language.alternatives import ROWS, instead_of

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "capsule.md"

HEAD = """
import contextlib, dataclasses, io, math, random
import numpy as np
import pandas as pd
import sklearn.datasets

table = pd.DataFrame({"a": [1, 2], "b": [3, 4]})

@dataclasses.dataclass
class Point:
    x: int = 1
"""
MODULES = ("contextlib", "dataclasses", "io", "math", "numpy", "pandas", "random")
CAPSULE = Capsule(Policy(allowed_imports=(*MODULES, "sklearn")))

TRIED: dict[str, tuple[list[str], str]] = {
    "fetching a data set": (
        ["sklearn.datasets.fetch_openml('x')"],
        "sklearn.datasets.make_classification()[0].sum()",
    ),
    "reading a file": (
        [
            "np.loadtxt('x')",
            "np.load('x')",
            "pd.read_csv('x')",
            "pd.read_excel('x')",
            "io.open('x')",
            "open('x')",
        ],
        "pd.read_csv(io.StringIO('a,b')).size",
    ),
    "writing a file": (
        [
            "np.savetxt('x', np.ones(2))",
            "np.ones(2).tofile('x')",
            "table.to_csv('x')",
            "table.to_parquet('x')",
        ],
        "len(table.to_csv()) + len(np.ones(2).tolist())",
    ),
    "evaluating text": (
        ["pd.eval('1')", "table.eval('a + b')", "eval('1')"],
        "(table['a'] + table['b']).sum()",
    ),
    "styling a table": (["table.style.hide()"], "len(table.to_string())"),
    "printing elsewhere": (
        ["print('x', file=3)", "contextlib.redirect_stdout(io.StringIO())"],
        "print('x', file=io.StringIO()) or 1",
    ),
    "making a class by a call": (
        ["type('A', (), {})", "dataclasses.make_dataclass('A', ['x'])"],
        "Point().x",
    ),
    "drawing from the system": (
        ["random.SystemRandom()"],
        "random.Random(1).random() + np.random.default_rng(1).random()",
    ),
    "changing a module": (["setattr(math, 'pi', 3)"], "math.pi"),
    "reading a class of a value": (
        ["data.__class__", "getattr(data, '__class__')"],
        "isinstance(data, list) + len(str(type(data)))",
    ),
    "reading all fields of an object": (
        ["Point().__dict__", "getattr(Point(), '__dict__')", "vars(Point())"],
        "dataclasses.asdict(Point())['x']",
    ),
    "calling a special method by its name": (
        ["data.__len__()", "getattr(data, '__len__')()"],
        "len(data)",
    ),
    "a template that reads a private field": (
        ["('{0.' + '_x}').format(1)"],
        "len(f'{data}')",
    ),
    "reading what belongs to a package": (
        ["table._mgr", "getattr(table, '_mgr')"],
        "table.to_numpy().sum()",
    ),
}
"""What was tried → programs that try it, and one that does as the remedy says."""


def run(expression: str) -> Execution:
    """Run a program that computes *expression*."""
    body = f"def fit_and_eval(data):\n    return {{'v': float({expression})}}\n"
    return CAPSULE.run(f"{HEAD}\n{body}", [1, 2])


def test_every_row_is_tried() -> None:
    """No row stands untested, and none stands twice."""
    assert [one.tried for one in ROWS] == list(TRIED)


@pytest.mark.parametrize(
    ("tried", "expression"),
    [(row, one) for row, (many, _) in TRIED.items() for one in many],
)
def test_a_refusal_says_what_to_write(tried: str, expression: str) -> None:
    """Refused early or while it runs, the remedy is that of its row."""
    (row,) = (one for one in ROWS if one.tried == tried)
    execution = run(expression)
    assert execution.error is not None
    assert execution.status == "rejected" or (
        execution.error["rule"] == "capsule/refused"
    )
    assert execution.error["remedy"] == row.remedy


@pytest.mark.parametrize("tried", TRIED)
def test_what_it_says_works(tried: str) -> None:
    """Who does as the remedy says is not refused."""
    execution = run(TRIED[tried][1])
    assert execution.status == "ok", execution.error


def test_what_no_row_has_keeps_the_general_remedy() -> None:
    """A message that nobody foresaw is not a match, and neither is a program's own."""
    assert instead_of("spam is not available in a capsule") is None
    execution = run("1 / 0")
    assert execution.error is not None
    assert execution.error["remedy"] == "read the message and the line"


def test_except_star_is_told_what_works() -> None:
    """``except*`` is allowed by no syntax; its remedy names none."""
    code = (
        "try:\n    pass\nexcept* ValueError:\n    pass\ndef fit_and_eval(d): return {}"
    )
    with pytest.raises(ProgramRefused) as caught:
        CAPSULE.validate(code)
    assert caught.value.remedy == "catch with except, one type after the other"


def test_the_page_has_every_row() -> None:
    """The reference lists what the capsule says."""
    page = PAGE.read_text()
    for one in ROWS:
        assert f"| {one.tried} | {one.remedy} |" in page

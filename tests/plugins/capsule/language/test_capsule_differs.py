"""Where Monty computes something else than CPython: what the manual lists is still so.

A new Monty that mends one of these fails here, so that somebody updates the page.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from muniment_plugins.capsule import Capsule, Policy

pytest.importorskip("pydantic_monty")

MODULES = ("math", "random", "re")
MANUAL = Path(__file__).parents[4] / "docs" / "reference" / "capsule.md"

DIFFERENT: dict[str, tuple[str, str, object, object]] = {
    "rounding": ("`round` to digits", "return {'r': round(2.675, 2)}", 2.67, 2.68),
    "eager": (
        "evaluated at once",
        "k = 1\ng = (x * k for x in [1, 2, 3])\nk = 10\nreturn {'r': sum(g)}",
        60,
        6,
    ),
    "map": (
        "evaluated at once",
        (
            "c = [0]\ndef f(x):\n    c[0] += 1\n    return x\n"
            "m = map(f, [1, 2, 3])\nreturn {'r': c[0]}"
        ),
        0,
        3,
    ),
    "truth": (
        "`__bool__`",
        "class A:\n    def __bool__(self): return False\nreturn {'r': 1 if A() else 2}",
        2,
        1,
    ),
    "re": ("`re`", "import re\nreturn {'r': re.findall('a*', 'baac')}", ..., ...),
    "end of line": (
        "`re`",
        "import re\nreturn {'r': re.findall('a$', 'a\\n')}",
        ...,
        [],
    ),
    "digits": ("last digits", "import math\nreturn {'r': math.gamma(5.5)}", ..., ...),
    "nan": ("NaN", "return {'r': float('nan') in [float('nan')]}", False, True),
    "sets": ("order of sets", "return {'r': list({3, 1, 2})}", [1, 2, 3], [3, 1, 2]),
    "keys": (
        "equal value",
        "return {'r': [str(k) for k in {1: 'a', True: 'b', 1.0: 'c'}]}",
        ["1"],
        ["1.0"],
    ),
    "find": ("beyond the end", "return {'r': 'abc'.find('', 5)}", -1, 3),
    "surrogates": ("surrogates", "return {'r': ord('\\ud800')}", 0xD800, 0xFFFD),
    "recursion": (
        "`RecursionError`",
        (
            "def f(n): return f(n + 1)\ntry: f(0)\n"
            "except RecursionError: return {'r': 'caught'}"
        ),
        None,
        "caught",
    ),
    "random": (
        "`random`",
        "import random\nrandom.seed()\nreturn {'r': random.random()}",
        ...,
        ...,
    ),
}
"""Words of the manual, a body, and what CPython and Monty give; … is any other."""


def result(body: str, engine: str) -> object:
    """Return what a function with this body gives; None where it has no success."""
    indented = body.replace("\n", "\n    ")
    policy = Policy(allowed_imports=MODULES, engine=engine, time_s=5)
    code = f"def fit_and_eval(data):\n    {indented}\n"
    execution = Capsule(policy).run(code, None)
    return execution.metrics and execution.metrics["r"]


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_the_manual_lists_differs(name: str) -> None:
    """Each engine gives what it gave when the page was written, and the page says so."""
    words, body, ours, other = DIFFERENT[name]
    found = result(body, "python"), result(body, "monty")
    assert found[0] != found[1]
    assert ours in (..., found[0])
    assert other in (..., found[1])
    section = MANUAL.read_text().partition("## The other engine")[2]
    assert words in " ".join(section.partition("\n## ")[0].split())


def test_the_manual_names_the_version_that_was_measured() -> None:
    """Another version may differ in other ways."""
    import pydantic_monty  # noqa: PLC0415 - an extra

    assert f"pydantic-monty {pydantic_monty.__version__}" in MANUAL.read_text()


def test_where_they_differ_in_digits_it_is_the_last_ones() -> None:
    """Not more than a few units of the last place."""
    body = DIFFERENT["digits"][1]
    values = [float(str(result(body, engine))) for engine in ("python", "monty")]
    assert math.isclose(*values, rel_tol=1e-14)

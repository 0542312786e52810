"""What synthesised code may not do, and what it may, through the steps; by number.

The walls of the capsule are tested where they stand; here code goes the way that an
experiment's code goes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.errors import RefusedError
from muniment_plugins.capsule.parent import supervisor
from muniment_plugins.capsule.parent.supervisor import GRACE_S
from muniment_plugins.harness import (
    BoundedExecutionError,
    Case,
    HarnessRefused,
    Spec,
    bounded_synthesis,
    execute_capsule,
)

Begun = Callable[..., Case]


def run(begun: Begun, code: str, data: object = (1, 2), **spec: object) -> Case:
    """Synthesize and execute *code*."""
    limits = {"resources": {"time_s": 10, "mem_mb": 512}}
    case = begun(data, **{"allowed_imports": [], **limits, **spec})
    return execute_capsule()(bounded_synthesis(code=code)(case))


def program(expression: str, head: str = "") -> str:
    """Return a program that returns *expression*."""
    return f"{head}\ndef fit_and_eval(data):\n    return {{'v': {expression}}}\n"


FRAMES = """
def fit_and_eval(data):
    def walk():
        yield 1
    frame = walk().gi_frame.f_back
    while frame:
        if 'conn' in frame.f_locals:
            frame.f_locals['conn'].send(('ok', {'total': 999}))
        frame = frame.f_back
    return {'total': 1}
"""
MATCHED = """
def fit_and_eval(data):
    match data:
        case list(__class__=kind):
            return {'v': str(kind)}
"""
REDUCED = """
class Gift:
    def __reduce__(self):
        return (print, ('out',))
def fit_and_eval(data):
    return {'v': Gift()}
"""
CAUGHT = "def fit_and_eval(data):\n    try: pass\n    except* Exception: pass"
DECORATED = "@len.__self__.exec\n@(lambda f: 'x = 1')\ndef g(): pass\n"

ESCAPES = {
    "E1": program("len.__self__.open('/etc/hostname').read()"),
    "E2": program("len.__self__.__import__('os').getcwd()"),
    "E3": program("(x for x in []).gi_frame.f_back.f_globals['builtins'].open"),
    "E4": program("__builtins__['__import__'].__closure__[0].cell_contents('os')"),
    "E5": program("__builtins__['__import__'].__builtins__['open']"),
    "E6": program("'{0.__class__.__mro__}'.format(1)"),
    "E6, in a variable": "t = '{0.__globals__}'\n" + program("t.format(fit_and_eval)"),
    "E7": DECORATED + program("1"),
    "E8": MATCHED,
    "E9": CAUGHT,
    "E10": program("[len.__self__.eval][0]('6*7')"),
    "E11": program("len.__self__.open('/tmp/x', 'w').write('x')"),
    "E12": program("len.__self__.__import__('socket').socket()"),
    "E13": FRAMES,
    "E14": REDUCED,
    "E15": program("len.__self__.__import__('os').fork()"),
    "E16": program("len.__self__.__import__('signal').signal(15, 1)"),
}


@pytest.mark.parametrize("number", ESCAPES)
def test_5_1_nothing_leads_out_of_the_language(begun: Begun, number: str) -> None:
    """Whatever way a program takes to what it may not reach, it is refused."""
    with pytest.raises(BoundedExecutionError):
        run(begun, ESCAPES[number])


THROUGH_MODULES = {
    "itertools": (
        "from itertools import __loader__ as l",
        "l.load_module('posix')",
    ),
    "math": ("from math import __spec__ as s", "s.loader"),
    "json": ("import json", "json.codecs.open('/etc/hostname')"),
    "json, from": ("from json import codecs", "codecs"),
    "random": ("import random", "random._os"),
    "random, from": ("from random import _os", "_os"),
    "collections": ("import collections", "collections._sys.modules['os']"),
    "re": ("import re", "re.enum.sys"),
    "functools": ("import functools", "functools.wraps.__builtins__['open']"),
    "operator": ("import operator", "operator.attrgetter('__class__.__mro__')(1)"),
    "numpy reads": ("import numpy as np", "np.loadtxt('/etc/hostname')"),
    "numpy writes": ("import numpy as np", "np.savetxt('/tmp/x', [1])"),
    "numpy calls": ("import numpy as np", "np.ctypeslib.ctypes.CDLL(None)"),
    "pandas reads": ("import pandas as pd", "pd.read_csv('/etc/hostname')"),
    "pandas os": ("import pandas as pd", "pd.io.common.os.getcwd()"),
}


@pytest.mark.parametrize("number", THROUGH_MODULES)
def test_5_2_allowed_modules_lead_nowhere_else(begun: Begun, number: str) -> None:
    """A module that is allowed shows what it offers, and not what it is made of."""
    head, expression = THROUGH_MODULES[number]
    name = head.split()[1].partition(".")[0]
    limits = {"time_s": 20, "mem_mb": 2048}
    code = program(expression, head)
    with pytest.raises(BoundedExecutionError) as caught:
        run(begun, code, allowed_imports=[name], resources=limits)
    assert caught.value.rule != "capsule/prepare", "it was never tried"


@pytest.mark.parametrize("name", ["os", "os.path", "importlib", "sys", "ctypes"])
def test_5_2_modules_that_open_the_capsule_are_refused(begun: Begun, name: str) -> None:
    """A spec that allows a way out is refused, and not the code under it."""
    with pytest.raises(RefusedError, match=name):
        run(begun, program("1"), allowed_imports=[name])


def body(statement: str) -> str:
    """Return a program that does *statement* first."""
    return f"def fit_and_eval(data):\n    {statement}\n    return {{'v': 1}}"


LIMITS = {
    "computes without end": (body("while True: pass"), "Execution timeout"),
    "computes in one call": (body("7 ** 10 ** 9 % 3"), "Execution timeout"),
    "takes a gigabyte": (body("[0] * 10 ** 9"), "MemoryError"),
    "takes a gigabyte of text": (body("'x' * 10 ** 9"), "MemoryError"),
    "calls itself": (
        "def f(): return f()\n" + body("f()"),
        "RecursionError",
    ),
    "nests lists": (
        body("x = []\n    for i in range(100000): x = [x]\n    return {'x': x}"),
        "nested|depth|deep",
    ),
    "returns nothing": (
        "def fit_and_eval(data): pass",
        "returned a value of type NoneType",
    ),
    "returns a list": (
        "def fit_and_eval(data): return []",
        "returned a value of type list",
    ),
    "returns NaN": (program("float('nan')"), "which is not a number"),
    "returns bytes": (program("b'x'"), "bytes"),
    "returns other keys": ("def fit_and_eval(d): return {(2, 3): 1}", "tuple"),
    "returns megabytes": (program("'x' * 2 ** 21"), "bytes"),
}


@pytest.mark.parametrize("what", LIMITS)
def test_5_3_every_end_has_its_name(begun: Begun, what: str) -> None:
    """Time, memory, depth and results out of bounds end as errors that say so."""
    code, message = LIMITS[what]
    with pytest.raises(BoundedExecutionError, match=message):
        run(begun, code, resources={"time_s": 0.5, "mem_mb": 256})


def test_5_3_waiting_is_a_timeout(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that only waits ends, too, and under the same words."""
    monkeypatch.setattr(supervisor, "GRACE_S", GRACE_S)
    code = program("time.sleep(600)", "import time")
    with pytest.raises(BoundedExecutionError, match="Execution timeout"):
        run(begun, code, allowed_imports=["time"], resources={"time_s": 0.3})


def test_5_3_limits_that_are_none_are_refused() -> None:
    """No limit of the wrong type, and none of 0, ever reaches a run."""
    for resources in ({"time_s": "5"}, {"time_s": 0}, {"mem_mb": 0}, {"mem": 5}):
        with pytest.raises(HarnessRefused, match=r"bounds nothing|means nothing"):
            Spec(resources=resources)


def test_5_3_output_stays_inside(
    begun: Begun, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a program prints never reaches the terminal of who runs it."""
    code = body("for i in range(20000): print('x' * 1000)")
    assert run(begun, code).metrics == {"v": 1}
    assert capfd.readouterr() == ("", "")


def test_5_3_large_results_come_back(begun: Begun) -> None:
    """A result of more than one pipe's worth is read while it is written."""
    outputs = run(begun, program("[x / 7 for x in range(20000)]")).outputs
    assert outputs is not None
    values = outputs["v"]
    assert isinstance(values, list)
    assert (len(values), values[7]) == (20000, 1.0)


NAMES = (
    *("round(1.5)", "isinstance(1, int)", "list(reversed([1]))", "pow(2, 3)"),
    *("next(iter([1]))", "len(frozenset([1]))", "type(1) is int", "divmod(7, 2)[0]"),
    *("hasattr(1, 'real')", "repr(1)", "len(bytes(3))", "chr(65)", "ord('a')"),
    *("abs(complex(3, 4))", "str(KeyError('x'))", "str(ZeroDivisionError())"),
    *("hash(1)", "bin(5)", "hex(5)", "callable(len)", "slice(1).stop", "sum([1])"),
)


@pytest.mark.parametrize("expression", NAMES)
def test_5_4_ordinary_names_are_there(begun: Begun, expression: str) -> None:
    """What harmless code uses every day is there."""
    assert run(begun, program(expression)).outputs


LEGITIMATE = {
    "classes": (
        "class A:\n    def __init__(self): self.x = 3\n" + program("A().x"),
        [],
    ),
    "dataclasses": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 3\n"
        + program("P().x"),
        ["dataclasses"],
    ),
    "match": (
        "def fit_and_eval(d):\n    match d:\n        case (a, b): return {'v': 3}",
        [],
    ),
    "raise": (
        body("if not data: raise KeyError('x')").replace("1}", "3}"),
        [],
    ),
    "statistics": (program("statistics.mean([2, 4])", "import statistics"), None),
    "decimal": (program("float(decimal.Decimal('3.0'))", "import decimal"), None),
    "fractions": (program("float(fractions.Fraction(6, 2))", "import fractions"), None),
    "random": (program("random.Random(1).randint(3, 3)", "import random"), None),
    "itertools": (
        program(
            "len(list(itertools.permutations([1, 2, 3]))) // 2", "import itertools"
        ),
        None,
    ),
}


@pytest.mark.parametrize("what", LEGITIMATE)
def test_5_4_legitimate_code_runs(begun: Begun, what: str) -> None:
    """Classes, patterns and the modules that a spec allows work as they are."""
    code, imports = LEGITIMATE[what]
    allowed = [what] if imports is None else imports
    assert run(begun, code, allowed_imports=allowed).metrics == {"v": 3}


@pytest.mark.parametrize(
    "code",
    ["def f(:", "x = " + "-" * 100_000 + "1", "x = '\ud800'", "x = '\0'", "return 1"],
    ids=["syntax", "depth", "surrogate", "null", "outside"],
)
def test_5_4_malformed_code_is_refused_as_code(begun: Begun, code: str) -> None:
    """Whatever is not a program is refused as one, with the rule that says why."""
    with pytest.raises(BoundedExecutionError) as caught:
        bounded_synthesis(code=code)(begun())
    assert caught.value.rule.startswith("capsule/")


def test_5_4_a_run_leaves_no_trace_in_another(begun: Begun, tmp_path: Path) -> None:
    """What one program does to a module is not there in the next one."""
    head = "import collections\nSEEN = collections.Counter()"
    code = program("len(SEEN)", head).replace("return", "SEEN['x'] += 1\n    return")
    for _ in range(2):
        assert run(begun, code, allowed_imports=["collections"]).metrics == {"v": 1}
    assert list(tmp_path.iterdir()) == []

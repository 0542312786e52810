"""Programs that are refused before anything runs, and how the refusal reads."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.capsule import Policy, ProgramRefused
from muniment_plugins.capsule.requests import check
from muniment_plugins.capsule.validation import validate

POLICY = Policy(allowed_imports=("math", "numpy", "sklearn.metrics"))
BODY = "def fit_and_eval(data):\n    return {}\n"

REFUSED = {
    "def f(): global open": "Forbidden name: open",
    "def f(): global __builtins__": "Forbidden name: __builtins__",
    "def f():\n    x = 1\n    def g(): nonlocal exec": "Forbidden name: exec",
    "with open('f') as f: pass": "Forbidden call: open",
    "with x as __class__: pass": "Forbidden name: __class__",
    "try: pass\nexcept Exception as eval: pass": "Forbidden name: eval",
    "try: pass\nexcept Exception as e: e.__traceback__": "attribute: __traceback__",
    "try: pass\nexcept Exception as e: e.__context__": "attribute: __context__",
    "def f(e): return e.__cause__.x": "Forbidden attribute: __cause__",
    "def f(tb): return tb.tb_frame": "Forbidden attribute: tb_frame",
    "x = '{0.__class__}'.format(1)": "Forbidden call: format",
    "x = '{0[a]._x}'.format(1)": "Forbidden call: format",
    "x = '{:{1._x}}'.format(1, 2)": "Forbidden call: format",
    "match 'x':\n    case str(format=f): pass": "attribute: format in a pattern",
    "match 'x':\n    case AttributeError(obj=f): pass": "attribute: obj in a pattern",
    "match 1:\n    case x._y: pass": "Forbidden attribute: _y in a pattern",
    "match 1:\n    case int(_x=y): pass": "Forbidden attribute: _x in a pattern",
    "class A(str):\n    __match_args__ = ('format',)": "attribute: format in a pattern",
    "class A:\n    gi_frame: int": "Forbidden attribute: gi_frame",
    "class A:\n    def tb_frame(self): pass": "Forbidden attribute: tb_frame",
    "class A:\n    f_back, x = 1, 2": "Forbidden attribute: f_back",
    "import os": "Import not allowed: os",
    "import os.path as p": "Import not allowed: os.path",
    "from os import path": "Import not allowed: os",
    "from . import x": "Import not allowed: relative",
    "from math import *": r"Import not allowed: \*",
    "from math import _x": "Import not allowed: _x",
    "from math import __loader__": "Import not allowed: __loader__",
    "import sklearn": "Import not allowed: sklearn",
    "import numpy.f2py": "Import not allowed: numpy.f2py",
    "x = eval('1')": "Forbidden call: eval",
    "x = exec('1')": "Forbidden call: exec",
    "x = open('f')": "Forbidden call: open",
    "x = compile('1', '', 'eval')": "Forbidden call: compile",
    "x = __import__('os')": "Forbidden call: __import__",
    "x = eval": "Forbidden name: eval",
    "x = [open][0]": "Forbidden name: open",
    "import math as open": "Forbidden name: open",
    "x = (1).__class__": "Forbidden attribute: __class__",
    "x = (1).__class__.__mro__": "Forbidden attribute: __mro__",
    "x = len.__self__": "Forbidden attribute: __self__",
    "x = (lambda: 0).__globals__": "Forbidden attribute: __globals__",
    "x = (i for i in []).gi_frame": "Forbidden attribute: gi_frame",
    "x = __builtins__": "Forbidden name: __builtins__",
    "x = super(int, 1).__init__": "Forbidden attribute: __init__",
    "__name__ = 'x'": "Forbidden name: __name__",
    "try: pass\nexcept* Exception: pass": "Forbidden syntax: try",
    "async def f(): pass": "f must be a sync function",
    "def f(): return [x async for x in []]": "Forbidden syntax: async",
    "class A(metaclass=type): pass": "Forbidden syntax: metaclass",
    "class A(**{}): pass": "Forbidden syntax: metaclass",
    "class A:\n    __getattribute__ = 1": "Forbidden name: __getattribute__",
    "class A:\n    def __getattr__(self, name): pass": "Forbidden name: __getattr__",
    "class A:\n    __mul__ = 1": "Forbidden name: __mul__",
    "class A:\n    __rmul__ = __class__": "Forbidden name: __rmul__",
    "__rmul__ = __mul__": "Forbidden name: __",
    "def __get__(): pass": "Forbidden name: __get__",
    "class A:\n    x = super().__get__": "Forbidden attribute: __get__",
    "class A:\n    def __class__(self): pass": "Forbidden name: __class__",
    "def __init__(): pass": "Forbidden name: __init__",
    "x = ''.format_map({})": "Forbidden attribute: format_map",
    "import math\nmath.pi = 3": "Forbidden assignment: math was imported",
    "import math as m\ndel m.pi": "Forbidden assignment: m was imported",
    "match 1:\n    case int(__class__=c): pass": "Forbidden attribute: __class__",
    "def f(x: \"open('f')\"): pass": "Forbidden call: open",
    'x: "(1).__class__" = 1': "Forbidden attribute: __class__",
    "def f() -> '*(eval,)': pass": "Forbidden name: eval",
    "class A:\n    __match_args__ = ('__class__',)": "Forbidden attribute: __class__",
    "import math\nmath._x": "Forbidden attribute: _x is private",
    "import math\nm = math.gcd\nm._x()": "Forbidden attribute: _x is private",
    "class A(E): A._convert_": "Forbidden attribute: _convert_",
    "class A:\n    __match_args__ = tuple('a')": "Forbidden name: __match_args__",
    "class A:\n    for __match_args__ in [1]: pass": "Forbidden name: __match_args__",
    "class A:\n    __slots__ = '__dict__'": "Forbidden attribute: __dict__",
    "x.tofile('f')": "Forbidden attribute: tofile",
    "x.ctypes": "Forbidden attribute: ctypes",
    "x = dict(__class__=1)": "Forbidden name: __class__",
    "def f(open): pass": "Forbidden name: open",
    "return 1": "'return' outside function",
    "def f(a, a): pass": "duplicate argument",
    "x = 1 +": "not a Python program",
    "x = '\0'": "not a Python program",
}


@pytest.mark.parametrize("code", REFUSED)
def test_refused_programs_say_what_is_not_allowed(code: str) -> None:
    """Everything that leads out of the bounds is refused, with the guide's words."""
    with pytest.raises(ProgramRefused, match=REFUSED[code]) as caught:
        validate(f"{code}\n{BODY}", POLICY)
    assert caught.value.rule.startswith("capsule/")
    assert caught.value.remedy


NARROW = {
    "def f(): global x": "Forbidden syntax: global",
    "def f():\n    x = 1\n    def g(): nonlocal x": "Forbidden syntax: nonlocal",
    "with x: pass": "Forbidden syntax: with",
    "try: pass\nexcept Exception: pass": "Forbidden syntax: try",
}


@pytest.mark.parametrize("code", NARROW)
def test_narrow_syntax_is_a_policy_of_its_own(code: str) -> None:
    """What is refused narrowly passes widely; a request that says neither is narrow."""
    assert validate(f"{code}\n{BODY}", POLICY).imports == ()
    with pytest.raises(ProgramRefused, match=NARROW[code]):
        validate(f"{code}\n{BODY}", replace(POLICY, syntax="narrow"))
    request = {"code": f"{code}\n{BODY}"}
    assert check(request)["accepted"] is False
    assert check({**request, "syntax": "wide"})["accepted"] is True


def test_a_refusal_names_line_column_and_what_is_allowed() -> None:
    """The position counts from one, and the allowed imports are listed."""
    with pytest.raises(ProgramRefused) as caught:
        validate("x = 1\nif x:\n    import os\n" + BODY, POLICY)
    assert (caught.value.line, caught.value.column) == (3, 5)
    assert caught.value.place == "program:3:5"
    assert "math, numpy" in caught.value.remedy


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1", "Entrypoint missing: fit_and_eval"),
        ("fit_and_eval = lambda data: {}", "Entrypoint missing"),
        ("async def fit_and_eval(data): return {}", "must be a sync function"),
    ],
)
def test_the_entrypoint_is_a_sync_function(code: str, message: str) -> None:
    """A program without its entrypoint, or with an async one, does not start."""
    with pytest.raises(ProgramRefused, match=message):
        validate(code, POLICY)


@pytest.mark.parametrize(
    "code",
    [
        "x = '" + "a" * 300_000 + "'",
        "x = [" + "1," * 70_000 + "]",
        "x = " + "(" * 300 + ")" * 300,
        "x = " + "-" * 50_000 + "1",
        "x = " + "not " * 5_000 + "1",
        "x = " + "1+" * 3_000 + "1",
        "x = a" + ".a" * 10_000,
        "x = a" + "[0]" * 10_000,
        "x = " + "[" * 500,
        "x = " + "lambda:" * 5_000 + "1",
        "x = " + "1 if 1 else " * 5_000 + "1",
    ],
    ids=range(11),
)
def test_large_and_deep_programs_are_refused(code: str) -> None:
    """No size and no nesting exhausts the parser or the reader."""
    with pytest.raises(ProgramRefused, match=r"more than|nested|not a Python"):
        validate(f"{code}\n{BODY}", POLICY)


def test_private_attributes_are_for_who_defines_them() -> None:
    """What a program defines, or reads of itself, it may read of others."""
    code = (
        "class A:\n"
        "    _kept: int = 0\n"
        "    def __init__(self, n): self._n = n\n"
        "    def _twice(self): return 2 * self._n + self._inherited\n"
        "    def __eq__(self, other): return self._n == other._n\n"
        "def fit_and_eval(data):\n"
        "    return {'n': A(1)._twice() + A._kept + data._fields + data._0}\n"
    )
    assert validate(code, POLICY).imports == ()


def test_imports_are_planned_with_the_submodules_that_are_reached() -> None:
    """The plan holds what is imported, and companions that a dot reaches."""
    code = (
        "import numpy as np\nfrom sklearn.metrics import f1_score\n"
        "def fit_and_eval(data):\n    import math\n    return np.linalg.norm(data)\n"
    )
    plan = validate(code, POLICY).imports
    assert plan == ("math", "numpy", "numpy.linalg", "sklearn.metrics")


WARNED = r"""
import re
def fit_and_eval(data):
    return {"found": re.findall("\d", "a1"), "same": data is 1}
"""


@pytest.mark.parametrize("action", ["always", "error"])
def test_what_python_warns_of_does_not_reach_the_host(action: str) -> None:
    """Unusual escapes are ordinary; the host's filters neither print nor refuse them."""
    validate.__globals__["_validated"].cache_clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter(action)  # type: ignore[arg-type] # one of the two
        for _ in range(2):
            validate(WARNED, Policy(allowed_imports=("re",)))
            validate.__globals__["_validated"].cache_clear()
        length = len(warnings.filters)
        validate(WARNED, Policy(allowed_imports=("re",)))
        assert len(warnings.filters) == length
        with pytest.raises(UserWarning) if action == "error" else nullcontext():
            warnings.warn("of the host's own", stacklevel=1)
    assert [str(warning.message) for warning in told] == (
        [] if action == "error" else ["of the host's own"]
    )


@given(st.text(max_size=200) | st.text("()[]{}:=.,'\"\\\n fx1_#*@!%$~", max_size=200))
def test_any_text_passes_or_is_refused_in_one_way(code: str) -> None:
    """Whatever the source, only the one exception leaves the validator."""
    with pytest.raises(ProgramRefused):
        validate(code, POLICY)

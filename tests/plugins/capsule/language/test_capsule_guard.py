"""What a program sees of modules and built-in names, without the validator before it."""

from __future__ import annotations

import builtins
import math

import pytest

from muniment_plugins.capsule import Capsule, Execution, Policy
from muniment_plugins.capsule.child.guard import build_views
from muniment_plugins.capsule.validation import Validated


class Unread(Capsule):
    """Runs what it has not read: only the guard stands in the way."""

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Return the program with a fixed plan."""
        return Validated(code, entrypoint, PLAN)


PLAN = (
    *("abc", "collections", "enum", "functools", "json", "math", "numpy", "operator"),
    *("random", "warnings"),
)
CAPSULE = Unread(Policy(allowed_imports=PLAN, time_s=5))


def run(expression: str, head: str = "") -> Execution:
    """Evaluate *expression* inside a program."""
    code = f"{head}\ndef fit_and_eval(data):\n    return {{'v': repr({expression})}}\n"
    return CAPSULE.run(code, None)


MISSING = {
    "eval('1')": "NameError",
    "exec('1')": "NameError",
    "open('/etc/hostname')": "NameError",
    "compile('1', '', 'eval')": "NameError",
    "globals()": "NameError",
    "vars()": "NameError",
    "__import__('os')": "ImportError",
    "__import__('math', level=1)": "ImportError",
    "getattr(1, '__class__')": "AttributeError",
    "getattr(1, 'mro')": "AttributeError",
    "getattr('{0.__class__}', 'format')(1)": "AttributeError",
    "getattr('{0:{1.gi_frame}}', 'format')(1, 2)": "AttributeError",
    "getattr(str, 'format')('{0._x}', 1)": "AttributeError",
    "getattr(str, 'format')('{0.real}', 1)": "NoError",
    "getattr('{}', 'format')(1)": "NoError",
    "hasattr(1, '__class__')": "AttributeError",
    "setattr(fit_and_eval, '__name__', 'x')": "AttributeError",
    "getattr(1, type('S', (str,), {})('x'))": "TypeError",
    "type('A', (), {})": "TypeError",
    "type(int)('A', (), {})": "TypeError",
    "type(abc.ABC)('A', (), {})": "TypeError",
    "abc.ABCMeta": "AttributeError",
    "enum.EnumType": "AttributeError",
    "enum.global_enum": "AttributeError",
    "enum.Enum('E', {'__del__': 1})": "AttributeError",
    "enum.Enum('E', ['A', '__del__'])": "AttributeError",
    "enum.Enum('E', iter([('A', 1), ('__del__', 1)]))": "AttributeError",
    "[e.name for e in enum.Enum('E', 'A B')]": "NoError",
    "[e.value for e in enum.Enum('E', {'A': 1})]": "NoError",
    "getattr(enum.Enum, '_convert_')": "AttributeError",
    "getattr(collections.Counter(), '_keep_positive')": "AttributeError",
    "getattr(collections.namedtuple('P', 'a')(1), '_asdict')()": "NoError",
    "getattr(type_of_own(), '_own')": "NoError",
    "print('x', file=data)": "NoError",
    "print('x', file=1)": "ValueError",
    "math.__loader__": "AttributeError",
    "math.__name__": "AttributeError",
    "setattr(math, 'pi', 3)": "AttributeError",
    "delattr(math, 'pi')": "NameError",
    "collections.abc": "AttributeError",
    "collections._sys": "AttributeError",
    "json.codecs": "AttributeError",
    "json.decoder": "AttributeError",
    "random.SystemRandom": "AttributeError",
    "random._os": "AttributeError",
    "functools.singledispatchmethod": "AttributeError",
    "functools.singledispatch(abs).register(dispatched)": "TypeError",
    "functools.singledispatch(abs)._clear_cache": "AttributeError",
    "functools.wraps(math, updated=('__globals__',))": "TypeError",
    "functools.update_wrapper(math, math, updated=('x',))": "TypeError",
    "operator.attrgetter('__class__')": "AttributeError",
    "operator.attrgetter('a.__class__')": "AttributeError",
    "operator.methodcaller('__reduce__')": "AttributeError",
    "operator.methodcaller('format', 1)('{0.__class__}')": "AttributeError",
    "operator.attrgetter('format')('{0.__class__}')(1)": "AttributeError",
    "warnings.catch_warnings(module=math)": "TypeError",
    "warnings.catch_warnings()": "NoError",
    "hasattr([], '__len__')": "NoError",
    "warnings.formatwarning": "AttributeError",
    "warnings.linecache": "AttributeError",
    "numpy.load": "AttributeError",
    "numpy.fromfile": "AttributeError",
    "numpy.memmap": "AttributeError",
    "numpy.lib": "AttributeError",
    "numpy.f2py": "AttributeError",
}


@pytest.mark.parametrize("expression", MISSING)
def test_what_leads_out_does_not_exist(expression: str) -> None:
    """Names, attributes and modules beyond the plan are not there at run time."""
    head = (
        f"import {', '.join(PLAN)}\n"
        "class type_of_own: _own = 1\n"
        "def dispatched(x: 'fit_and_eval.__globals__'): pass\n"
    )
    execution = run(expression, head)
    kind = execution.error["type"] if execution.error else "NoError"
    assert kind == MISSING[expression]


DISPATCHED = """
def show(x): return "any"
show = functools.singledispatch(show)
@show.register
def _(x: "int | str"): return "int or text"
@show.register(list)
def _(x): return "list"
class Made: pass
@show.register
def _(x: Made): return "made"
"""


def test_dispatch_looks_annotations_up() -> None:
    """A function with a method for each type works, and evaluates no text."""
    head = f"import functools\n{DISPATCHED}"
    execution = run("[show(x) for x in (1, 'a', [], Made(), None, True)]", head)
    assert execution.metrics == {
        "v": str(["int or text", "int or text", "list", "made", "any", "int or text"])
    }


def test_generators_ask_the_program_for_a_seed() -> None:
    """Seeding with nothing draws from the seed of the program, not from the system."""
    head = "import random"
    expression = "(random.seed(), random.random(), random.Random().random())"
    assert run(expression, head).metrics == run(expression, head).metrics


def test_every_built_in_exception_is_there() -> None:
    """A clause that names one catches what it catches anywhere."""
    names = [
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    ]
    public = [name for name in names if not name.startswith("_")]
    assert len(public) > 60  # the control: they were looked for in the right place
    found = run(f"[one.__name__ for one in ({', '.join(public)})]")
    kinds = [vars(builtins)[name].__name__ for name in public]
    assert (found.error, found.metrics) == (None, {"v": repr(kinds)})


def test_what_was_printed_before_an_error_is_printed() -> None:
    """Output has the pieces that came before the one that failed."""
    code = "def fit_and_eval(data):\n    print('a', 1, data.x)\n    return {}\n"
    head = "class Broken:\n    def __str__(self): raise ValueError('no')\n"
    code = head + code.replace("data.x", "Broken()")
    execution = Capsule(Policy()).run(code, None)
    assert (execution.stdout, execution.status) == ("a 1 ", "error")
    assert (
        Capsule(Policy()).run(code.replace("Broken()", "2"), None).stdout == "a 1 2\n"
    )


@pytest.mark.parametrize(
    "statement",
    [
        "import os",
        "import sys",
        "import numpy.f2py",
        "from numpy import f2py",
        "from collections import abc",
        "from json import decoder",
        "from random import _os",
        "import builtins",
    ],
)
def test_modules_outside_the_plan_cannot_be_imported(statement: str) -> None:
    """The guard answers every import statement from the plan alone."""
    execution = run("1", statement)
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/refused"
    assert execution.error["type"] in {"AttributeError", "ImportError"}


def test_views_hold_public_names_without_modules() -> None:
    """A view shows what a module offers, and a parent only what is planned."""
    import xml.dom.minidom  # noqa: F401, PLC0415 - a package with planned submodules

    views = build_views(["math", "xml.dom.minidom"])
    public = {n for n in dir(math) if not n.startswith("_")}
    assert set(vars(views["math"])) == public | {"__doc__"}
    assert set(vars(views["xml"])) == {"dom"}
    assert {n for n in vars(views["xml.dom"]) if n[0] != "_"} == {"minidom"}
    assert "xml" not in vars(views["xml.dom.minidom"])


def test_views_are_read_only() -> None:
    """Neither assignment nor deletion changes a view."""
    view = build_views(["math"])["math"]
    with pytest.raises(AttributeError, match="read-only"):
        view.pi = 3
    with pytest.raises(AttributeError, match="read-only"):
        del view.pi


@pytest.mark.parametrize("error", ["MemoryError", "MemoryError('own')", "Full('own')"])
def test_an_own_memory_error_is_an_error_and_no_limit(error: str) -> None:
    """The status says that memory was used up where it was, and nowhere else."""
    head = "class Full(MemoryError): pass\ndef fit_and_eval(data):\n"
    execution = Capsule(Policy()).run(f"{head}    raise {error}\n", None)
    assert execution.error is not None
    assert (execution.status, execution.error["line"]) == ("error", 3)
    assert execution.error["rule"] == "capsule/raised"
    used = (
        "    try: return {'n': len([0] * 10**12)}\n    except MemoryError: return {}\n"
    )
    assert Capsule(Policy()).run(head + used, None).status == "limit"


@pytest.mark.parametrize(
    "expression",
    [
        "dict.__init__({}, a=1)",
        "(lambda A: A.__init__)(dict)",
        "super(dict, {}).__init__",
        "len.__call__([1])",
        "Table.__init__({}, a=1)",
        "Own().__init__",
    ],
)
def test_methods_are_called_by_name_of_own_classes_alone(expression: str) -> None:
    """What others have of the data model is for operators and ``super()``."""
    head = "class Own:\n    def __init__(self): pass\nclass Table(dict): pass\n"
    execution = run(expression, head)
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/refused"
    assert run("Own.__init__(Own())", head).metrics == {"v": "None"}

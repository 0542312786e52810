"""Whose a name is depends on the object: made by the program, or handed to it."""

from __future__ import annotations

import copy
import decimal
import enum
import fractions
import functools
import operator
import random
import re
import string
import typing
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from muniment_plugins.capsule import Capsule, Execution, Policy, ProgramRefused
from muniment_plugins.capsule.child.ownership import (
    build_class,
    check_fields,
    formatting,
    look_up,
    looked_up,
    own,
    reach,
    written,
)
from muniment_plugins.capsule.child.substitutes import attrgetter_of
from muniment_plugins.capsule.language.rules import FRAMES, is_private
from muniment_plugins.capsule.validation import Validated, validate

ALLOWED = ("abc", "calendar", "collections", "contextlib", "dataclasses", "functools")
POLICY = Policy(allowed_imports=(*ALLOWED, "operator", "typing"), time_s=10, mem_mb=64)


class Unread(Capsule):
    """Runs what it has not read: only the guard stands in the way."""

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Return the program with a fixed plan."""
        return Validated(code, entrypoint, POLICY.allowed_imports)


def run(code: str, capsule: type[Capsule] = Capsule) -> Execution:
    """Run a whole program."""
    return capsule(POLICY).run(code, [1, 2, 3])


def foreign() -> Iterator[object]:
    """Yield what is handed to programs: classes, instances and functions of modules."""
    yield from (typing.List[int], typing.TypeVar("T"))  # noqa: UP006
    yield from (warnings.catch_warnings(), warnings.WarningMessage)
    yield from (enum.Enum, enum.Enum("E", "A"), random.Random, string.Template("$a"))
    yield from (decimal.Decimal(1), fractions.Fraction(1, 2), re.compile("x"))
    yield from (copy.copy, functools.partial(len), functools.lru_cache(len), len)
    yield from (1, "text", [], {}, ValueError("x"), type, object, super(type, int))


PRIVATE = [
    (target, name) for target in foreign() for name in dir(target) if is_private(name)
]


def test_there_are_private_names_to_try() -> None:
    """The objects have enough of them, so that what follows says something."""
    assert len(PRIVATE) > 20


@pytest.mark.parametrize(
    "ask",
    [
        own,
        look_up,
        looked_up,
        lambda target, name: attrgetter_of(operator.attrgetter)(name)(target),
        lambda target, name: look_up(target, name, reads=False),
    ],
    ids=["own", "look_up", "getattr", "attrgetter", "setattr"],
)
def test_private_names_of_others_stay_theirs(ask: Callable[[Any, str], object]) -> None:
    """However it is asked for, and whatever the program calls its own."""
    for target, name in PRIVATE:
        with pytest.raises(AttributeError, match="private"):
            ask(target, name)


def test_private_names_of_base_classes_are_not_planted() -> None:
    """No class takes the place of what the methods of a library's class run."""

    class Library:
        def method(self) -> None:
            self._run_this_text  # type: ignore[attr-defined]  # noqa: B018 - as libraries do

    def body(name: str) -> Any:
        space: dict[str, Any] = {}
        exec(f"def body():\n    {name} = 1", space)  # noqa: S102 - as a class has it
        return space["body"]

    for name in ("_run_this_text", "_other"):
        planted = body(name)
        code = planted.__code__.replace(co_names=(name,))
        planted.__code__ = code
        if name == "_other":
            made = build_class(planted, "Made", Library)
            assert own(made, "_other") is made
        else:
            with pytest.raises(AttributeError, match="private to a base class"):
                build_class(planted, "Made", Library)


FORMS = {
    "annotated": "class A:\n    {}: int",
    "assigned": "class A:\n    {} = 1",
    "defined": "class A:\n    def {}(self): return 1",
    "read": "x = fit_and_eval.{}",
    "written": "def f(x): x.{} = 1",
    "deleted": "def f(x): del x.{}",
    "pattern": "def f(x):\n    match x:\n        case object({}=y): return y",
    "match_args": "class A:\n    __match_args__ = ('{}',)",
    "slots": "class A:\n    __slots__ = ('{}',)",
    "template": "x = '{{0.{}}}'.format(1)",
    "annotation": "def f(x: 'x.{}'): return x",
    "dotted pattern": "def f(x):\n    match x:\n        case x.{}: return 1",
}
COMPUTED = {
    "getattr": "getattr(fit_and_eval, name)",
    "hasattr": "hasattr(fit_and_eval, name)",
    "setattr": "setattr(fit_and_eval, name, 1)",
    "attrgetter": "operator.attrgetter(name)(fit_and_eval)",
    "deep attrgetter": "operator.attrgetter('x.' + name)(fit_and_eval)",
    "methodcaller": "operator.methodcaller(name)(fit_and_eval)",
    "template": "('{0.' + name + '}').format(fit_and_eval)",
    "nested template": "('{:{1.' + name + '}}').format(1, 2)",
    "namedtuple": "derived(collections.namedtuple('N', [name]))",
    "NamedTuple": "derived(typing.NamedTuple('N', [(name, int)]))",
}
HEAD = f"import {', '.join(POLICY.allowed_imports)}\n"
DERIVED = "def derived(base):\n    class A(base, abc.ABC): pass\n    return A\n"


@pytest.mark.parametrize("form", FORMS)
def test_names_of_frames_are_forbidden_wherever_a_name_is_written(form: str) -> None:
    """Attributes, fields, methods, patterns, templates, annotations."""
    names = sorted(FRAMES) if form != "slots" else sorted(FRAMES)[:5]
    for name in names:
        code = f"{FORMS[form].format(name)}\ndef fit_and_eval(data): return {{}}\n"
        with pytest.raises(
            ProgramRefused, match=name if form != "template" else "format"
        ):
            validate(code, POLICY)


@pytest.mark.parametrize("form", COMPUTED)
@pytest.mark.parametrize("name", ["gi_frame", "f_globals", "tb_next"])
def test_names_of_frames_are_forbidden_wherever_a_name_is_made(
    form: str, name: str
) -> None:
    """Texts that become names end the program, which catches nothing of it."""
    code = (
        f"{HEAD}{DERIVED}def fit_and_eval(data):\n    name = {name[:3]!r} + {name[3:]!r}\n"
        f"    try:\n        {COMPUTED[form]}\n    except BaseException:\n        pass\n"
        "    return {'done': 1}\n"
    )
    execution = run(code)
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/refused"
    assert execution.error["line"] == (3 if "derived" in COMPUTED[form] else 8)


SWALLOWED = {
    "except": "try:\n    {}\nexcept Exception: pass",
    "bare except": "try:\n    {}\nexcept: pass",
    "base": "try:\n    {}\nexcept BaseException as e: e = None",
    "by name": "try:\n    {}\nexcept (MemoryError, RecursionError, AttributeError): pass",
    "finally": "def g():\n    try:\n        {}\n    finally:\n        return 1\ng()",
    "in a handler": (
        "def g():\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        {}\n"
        "    finally:\n        return 1\ng()"
    ),
    "loop": "for _ in range(3):\n    try:\n        {}\n    finally:\n        continue",
    "suppress": "with contextlib.suppress(BaseException):\n    {}",
    "stack": ("with contextlib.ExitStack() as s:\n    s.push(lambda *_: True)\n    {}"),
    "callbacks": (
        "s = contextlib.ExitStack()\ns.push(lambda *_: True)\n"
        "def called(): {}\ns.callback(called)\ns.close()"
    ),
    "callback without a frame": (
        "s = contextlib.ExitStack()\ns.push(lambda *_: True)\n"
        "def called(): {}\ns.callback(list, map(lambda _: called(), [1]))\ns.close()"
    ),
    "own manager": (
        "class M:\n    def __enter__(self): return 1\n"
        "    def __exit__(self, *_): return True\nwith M():\n    {}"
    ),
    "decorator": (
        "class M(contextlib.ContextDecorator):\n    def __enter__(self): return 1\n"
        "    def __exit__(self, *_): return True\n@M()\ndef g():\n    {}\ng()"
    ),
    "generator": (
        "@contextlib.contextmanager\ndef m():\n    try:\n        yield\n"
        "    except BaseException: pass\nwith m():\n    {}"
    ),
    "chained": (
        "try:\n    try:\n        {}\n    except BaseException as e:\n"
        "        raise ValueError('x') from None\nexcept ValueError: pass"
    ),
}
LIMITS = {
    "memory": ("held = bytearray(1 << 40)", "capsule/memory"),
    "recursion": ("deep(1)", "capsule/raised"),
    "refusal": ("getattr(data, '__cla' + 'ss__')", "capsule/refused"),
    "module": ("calendar.sys", "capsule/refused"),
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("form", SWALLOWED)
def test_no_program_swallows_a_limit_or_a_refusal(form: str, limit: str) -> None:
    """Handlers, finally clauses and context managers do not see them."""
    what, rule = LIMITS[limit]
    lines = SWALLOWED[form].format(what).replace("\n", "\n    ")
    code = (
        f"{HEAD}def deep(n): return deep(n + 1) + 1\n"
        f"def fit_and_eval(data):\n    {lines}\n    return {{'swallowed': 1}}\n"
    )
    execution = run(code)
    assert execution.error is not None
    assert (execution.metrics, execution.error["rule"]) == (None, rule)
    assert int(str(execution.error["line"])) >= 2


def test_a_program_catches_its_own_errors() -> None:
    """What a program raises itself by such a name is its own, and so is its handler."""
    code = (
        "def fit_and_eval(data):\n    try:\n        raise PermissionError('no')\n"
        "    except OSError as e:\n        return {'e': str(e), 'n': e.args[0]}\n"
    )
    assert run(code).metrics == {"e": "no", "n": "no"}


def test_errors_hand_out_no_part_of_the_interpreter() -> None:
    """Neither by the object that they are about, nor by their arguments."""
    for value in (warnings, len, copy.copy, (_ for _ in "")):
        with pytest.raises(AttributeError, match="obj of this error"):
            reach(AttributeError(obj=value, name="x"), "obj")
        with pytest.raises(AttributeError, match="args of this error"):
            reach(KeyError(value), "args")
    plain = KeyError("x", 1, (2.5, None))
    assert reach(plain, "args") is plain


def test_templates_read_what_a_program_may() -> None:
    """Items and public attributes pass; what ``getattr`` would refuse does not."""
    assert formatting("{0.real} {1[a]} {2:>{w}}")(3, {"a": 4}, "x", w=3) == "3 4   x"
    assert formatting(str)("{}", 1) == "1"
    for text in ("{0.__class__}", "{0[a]._x}", "{:{0.gi_frame}}", "{a.format}"):
        with pytest.raises(AttributeError, match="template"):
            check_fields(text)


def test_tables_write_text_and_no_files() -> None:
    """Without a place, or into memory, a table gives its text; anywhere else it ends."""
    import io  # noqa: PLC0415 - here alone

    pd = pytest.importorskip("pandas")

    class Pretender(io.StringIO):
        pass

    table = pd.DataFrame({"a": [1]})
    out = io.StringIO()
    assert written(table, "to_csv")(out) is None
    assert written(table, "to_csv")() == out.getvalue() == ",a\n0,1\n"
    assert written(table, "to_json")(path_or_buf=None) == '{"a":{"0":1}}'
    for place in ("/x", b"/x", Pretender(), 1):
        for name, key in (("to_csv", "path_or_buf"), ("to_string", "buf")):
            with pytest.raises(PermissionError, match="files are not available"):
                written(table, name)(place)
            with pytest.raises(PermissionError, match="files are not available"):
                written(table, name)(**{key: place})
    for name in ("to_pickle", "to_sql", "to_anything", "style", "eval"):
        with pytest.raises(AttributeError, match="not available"):
            reach(table, name)


def test_a_refusal_says_what_where_and_what_instead() -> None:
    """The construct, its line and column, and a remedy."""
    code = "import calendar\ndef fit_and_eval(data):\n    return {'x': calendar.sys.path}\n"
    error = run(code, Unread).error
    assert error is not None
    assert (error["line"], error["column"]) == (3, 18)
    assert "calendar.sys is not available" in str(error["message"])
    assert "manual" in str(error["remedy"])


STORES = """
import contextlib, dataclasses, json, statistics, string, textwrap
from functools import partial
import pandas as pd
table = pd.DataFrame({{"a": [1, 2]}})

class Own:
    seen = 0
    def __init__(self):
        self.x = 1
    def put(self):
        self.sum = len

class Derived(string.Template):
    pass

def own():
    return 1

def fit_and_eval(data):
    made, kind, encoder = Own(), type(table), json.JSONEncoder
    stack, dedent, decorator = contextlib.ExitStack, textwrap.dedent, dataclasses.dataclass
    {statement}
    return {{"done": True}}
"""
OTHERS = (
    "kind.sum = len",
    "setattr(kind, 'sum', len)",
    "[*map(setattr, [kind], ['sum'], [len])]",
    "del kind.sum",
    "Own.put(kind)",
    "encoder.default = len",
    "stack.pop_all = len",
    "dedent.x = 1",
    "decorator.x = 1",
    "(lambda k: setattr(k, 'flags', 1))(string.Template)",
    "for kind.sum in [1]: pass",
    "kind.sum += 1",
    "(kind.sum, other) = 1, 2",
)
OWN = (
    "made.x = 2",
    "made.put()",
    "Own.seen += 1",
    "setattr(Own, 'more', 1)",
    "own.calls = 0",
    "Derived.flags = 0",
    "del made.x",
    "table.index = [3, 4]",
    "partial(own).note = 1",
)


def _stored(statement: str) -> Execution:
    modules = ("contextlib", "dataclasses", "functools", "json", "pandas", "statistics")
    policy = Policy(allowed_imports=(*modules, "string", "textwrap"), time_s=5)
    return Capsule(policy).run(STORES.format(statement=statement), None)


@pytest.mark.parametrize("statement", OTHERS)
def test_classes_and_functions_of_packages_stay_as_they_are(statement: str) -> None:
    """What library code runs is not replaced by the program's, by whichever way it sets."""
    execution = _stored(statement)
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/refused"


@pytest.mark.parametrize("statement", OWN)
def test_what_is_the_programs_own_it_may_change(statement: str) -> None:
    """The control: its classes, functions and objects, and objects of packages."""
    execution = _stored(statement)
    assert (execution.error, execution.metrics) == (None, {"done": True})

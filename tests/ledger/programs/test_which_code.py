"""A reference names the code that is called, whatever the callable says of itself."""

from __future__ import annotations

import functools
import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

import pytest

from muniment.errors import RefusedError, UsageError
from muniment.programs.functions import changed_in, describe, find, formerly
from muniment.programs.references import named, plain, refer

NAME = "disguises_seen"
KINDS = f"{NAME}_kinds"
BASE = """
class Above:
    def __call__(self, stage): return "above"

def keeps(function):
    def kept(stage): return function(stage)
    return kept
"""
TEXT = """
import functools
from {kinds} import Above, keeps

def helper(stage): return "helper"
def strict(stage): return helper(stage) + "wrapped"

def retry(function):
    @functools.wraps(function)
    def wrapper(stage): return "wrapper" or function(stage)
    return wrapper

def silent(function):
    def wrapper(stage): return "wrapper" or function(stage)
    wrapper.__qualname__, wrapper.__module__ = function.__qualname__, function.__module__
    return wrapper

class Object:
    def __init__(self, function): functools.update_wrapper(self, function)
    def __call__(self, stage): return "wrapper" or self.__wrapped__(stage)

class Plain:
    def __call__(self, stage): return "wrapper"
    def method(self, stage): return "wrapper"
    @classmethod
    def of_class(cls, stage): return "wrapper"
    @staticmethod
    def static(stage): return "wrapper"

class Below(Plain):
    pass

@retry
def retried(stage): return "wrapped"

@silent
def silenced(stage): return "wrapped"

@Object
def objected(stage): return "wrapped"

@functools.lru_cache
def cached(stage): return "wrapped"

@functools.singledispatch
def generic(stage): return "wrapped"

@generic.register
def _(stage: int): return "wrapper"

@retry
@functools.lru_cache
def twice(stage): return "wrapped"

def make():
    def inner(stage): return "wrapped"
    def closed(stage): return "wrapper" or inner(stage)
    return closed

closed = make()
elsewhere = keeps(strict)
thing = Plain()
above = Above()
part = functools.partial(retried, 1)
bare = lambda stage: "wrapper"

class Decorated:
    @retry
    def method(self, stage): return "wrapped"
    __call__ = retry(method)

dressed = Decorated()
"""


@pytest.fixture
def load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., ModuleType]]:
    """Give what writes and imports the module, after replacements in its text."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def loaded(*edits: tuple[str, str], base: str = BASE) -> ModuleType:
        text = TEXT.format(kinds=KINDS)
        for before, after in edits:
            assert before in text
            text = text.replace(before, after)
        for name, content in ((KINDS, base), (NAME, text)):
            (tmp_path / f"{name}.py").write_text(content)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module(NAME)

    yield loaded
    for name in (KINDS, NAME):
        sys.modules.pop(name, None)


def got(module: ModuleType, path: str) -> Any:
    """Return what is at *path* in *module*."""
    return functools.reduce(getattr, path.split("."), module)


LIES: dict[str, Callable[[Any], Any]] = {
    "wraps, elsewhere": lambda m: functools.wraps(m.strict)(lambda _: True),
    "a decorator, elsewhere": lambda m: m.retry(m.strict),
    "without __wrapped__": lambda m: m.silent(m.strict),
    "an object": lambda m: m.Object(m.strict),
    "a cache": lambda m: functools.lru_cache(m.strict),
    "a generic function": lambda m: functools.singledispatch(m.strict),
    "a decorator of both": lambda m: m.retry(functools.lru_cache(m.strict)),
    "another module": lambda m: claiming(m.strict, __module__="json"),
    "a module that is not": lambda m: claiming(m.strict, __module__="no_such"),
    "another name": lambda m: claiming(m.strict, __qualname__="helper"),
    "a name that is not": lambda m: claiming(m.strict, __qualname__="gone"),
    "a member that is not": lambda m: claiming(m.strict, __qualname__="strict.x.y"),
    "a class": lambda m: type("strict", (m.Plain,), {"__module__": NAME}),
    "a method of another class": lambda m: derived(m.Plain).of_class,
    "what a module had": lambda m: replaced(m, "strict"),
    "what a module has no more": lambda m: vars(m).pop("strict"),
    "what a decorator took": lambda m: m.retried.__wrapped__,
    "what a reload left": lambda m: (m.strict, importlib.reload(m))[0],
    "a method that an object has not": lambda m: MethodType(m.strict, m.thing),
    "a method that looks like one": lambda m: MethodType(
        claiming(m.helper, __name__="method"), m.thing
    ),
    "a method of C": lambda _: [].append,
}
"""What a callable is → one with the name of something else."""


def derived(cls: type) -> Any:
    """Return a class below *cls*, which is nowhere."""
    return type("Derived", (cls,), {"__module__": NAME})


def claiming(function: Any, **said: str) -> Any:
    """Return *function* after it said something else of itself."""
    for name, value in said.items():
        setattr(function, name, value)
    return function


def replaced(module: Any, name: str) -> Any:
    """Return what *module* had under *name*, which has something else there now."""
    before = getattr(module, name)
    setattr(module, name, module.helper)
    return before


@pytest.mark.parametrize("what", LIES)
def test_a_name_leads_to_what_is_called(
    load: Callable[..., ModuleType], what: str
) -> None:
    """A callable with the name of another is refused: with rule, place and remedy."""
    called = LIES[what](load())
    for ask in (describe, refer, named):
        with pytest.raises(UsageError) as refused:
            ask(called)
        assert refused.value.rule == "program/path"
        assert refused.value.place
        assert refused.value.remedy


COVERED = {
    "strict": ("wrapped",),
    "retried": ("wrapper", "wrapped"),
    "silenced": ("wrapper", "wrapped"),
    "objected": ("wrapper", "wrapped"),
    "cached": ("wrapped",),
    "generic": ("wrapper", "wrapped"),
    "twice": ("wrapper", "wrapped"),
    "closed": ("wrapper", "wrapped"),
    "elsewhere": ("wrapped",),
    "part": ("wrapper", "wrapped"),
    "Plain": ("wrapper",),
    "dressed": ("wrapper", "wrapped"),
    "dressed.method": ("wrapper", "wrapped"),
    "thing": ("wrapper",),
    "thing.method": ("wrapper",),
    "Plain.method": ("wrapper",),
    "Plain.of_class": ("wrapper",),
    "Plain.static": ("wrapper",),
    "bare": ("wrapper",),
}
"""Name of a callable → what is in the code that runs when it is called."""


@pytest.mark.parametrize("path", COVERED)
def test_a_digest_covers_the_code_that_runs(
    load: Callable[..., ModuleType], path: str
) -> None:
    """It is another one if the wrapper has other code, and if the wrapped has."""
    before = refer(got(load(), path))
    assert before == refer(got(load(), path))
    for word in COVERED[path]:
        after = refer(got(load((f'"{word}"', '"other"')), path))
        assert after["import"] == before["import"]
        assert after["source"] != before["source"], word


@pytest.mark.parametrize("path", ["above", "elsewhere"])
def test_the_file_of_a_decorator_or_a_class_is_named(
    load: Callable[..., ModuleType], path: str
) -> None:
    """Code in another file than the name leads to is known by the digest of its file."""
    before = describe(got(load(), path))
    after = got(load(base=BASE + "# more\n"), path)
    assert changed_in(after, before) == f"{KINDS}.py"
    assert changed_in(after, describe(after)) is None
    told: dict[str, Any] = describe(after)
    files = {**told.get("files", {}), **told.get("others", {})}
    assert f"{KINDS}.py" in files


@pytest.mark.parametrize("path", ["strict", "Plain.method", "Plain.of_class", "Plain"])
def test_what_wraps_nothing_is_named_as_ever(
    load: Callable[..., ModuleType], path: str
) -> None:
    """Its digest is that of its text, so the names in records of before are its names."""
    text = TEXT.format(kinds=KINDS)
    first = {"strict": "def strict", "Plain": "class Plain"}.get(path)
    first = first or f"    def {path.rpartition('.')[2]}"
    start = text.index(first)
    end = text.index("\n", start) + 1
    if path == "Plain":
        end = text.index("\n\n", start) + 1
    if path.endswith("of_class"):
        start = text.index("    @classmethod")
    digest = hashlib.sha256(text[start:end].encode()).hexdigest()
    told = {"import": f"{NAME}:{path}", "source": f"sha256:{digest}"}
    assert refer(got(load(), path)) == told


@pytest.mark.parametrize("name", ["thing", "thing.method"])
def test_a_class_that_got_another_method_calls_that(
    load: Callable[..., ModuleType], name: str
) -> None:
    """The text of the class is not what runs, so it is not all that is named."""
    module: Any = load()
    before = refer(got(module, name))
    what = "method" if "." in name else "__call__"
    setattr(module.Plain, what, claiming(module.retried, __name__=what))
    assert refer(got(module, name))["source"] != before["source"]


def test_what_wraps_was_named_by_what_it_wraps(load: Callable[..., ModuleType]) -> None:
    """A record of before has the digest of the wrapped function, and means the same."""
    module: Any = load()
    line = '@retry\ndef retried(stage): return "wrapped"\n'
    digest = f"sha256:{hashlib.sha256(line.encode()).hexdigest()}"
    before = {"import": f"{NAME}:retried", "source": digest}
    assert formerly(module.retried) == before
    assert find(before, "r", same=True) is module.retried
    assert formerly(module.strict) is None


def test_no_attribute_says_what_is_called(load: Callable[..., ModuleType]) -> None:
    """Neither do those that our own stand-ins have."""
    module: Any = load()
    known = refer(module.strict)
    module.strict.plain_function = module.helper
    module.strict.described = {"import": "json:loads"}
    module.strict.__stable_name__ = "acme:strict/1"
    assert refer(module.strict) == refer(named(module.strict)) == known
    assert plain(named(module.strict)) is module.strict


def test_code_is_not_replaced_between_the_name_and_the_call(
    load: Callable[..., ModuleType],
) -> None:
    """A function, or what it wraps, that got other code since is not called."""
    for path in ("strict", "retried"):
        module: Any = load()
        function = named(getattr(module, path))
        inner = getattr(getattr(module, path), "__wrapped__", module.strict)
        inner.__code__ = (lambda stage: stage).__code__
        for call in (lambda f=function: f(1), lambda f=function: plain(f)):
            with pytest.raises(RefusedError, match="other code than when it was named"):
                call()


def test_code_that_was_replaced_before_is_named(
    load: Callable[..., ModuleType],
) -> None:
    """The digest is that of the code, not of the text that the name once had."""
    module: Any = load()
    before = refer(module.strict)
    module.strict.__code__ = module.helper.__code__
    assert refer(module.strict)["source"] == refer(module.helper)["source"]
    assert refer(module.strict) != before


@pytest.mark.parametrize("word", ["wrapped", "helper"])
def test_a_file_that_was_edited_since_is_not_the_code(
    load: Callable[..., ModuleType], tmp_path: Path, word: str
) -> None:
    """What is loaded is no more in its file: then neither text nor file is named."""
    module: Any = load()
    before, file = describe(module.strict), tmp_path / f"{NAME}.py"
    file.write_text(file.read_text().replace(f'"{word}"', '"another"'))
    after = describe(module.strict)
    assert {"source", "files"} & after.keys() == set()
    assert str(after["code"]).startswith("sha256:")
    assert changed_in(module.strict, before) == f"{NAME}.py"
    importlib.reload(module)
    assert "code" not in describe(module.strict)


def test_an_edit_of_what_is_not_called_changes_no_name(
    load: Callable[..., ModuleType], tmp_path: Path
) -> None:
    """The text of a function that is loaded is still in the file."""
    module: Any = load()
    before, file = describe(module.strict), tmp_path / f"{NAME}.py"
    file.write_text(file.read_text() + "\ndef more(): pass\n")
    after = describe(module.strict)
    assert after["source"] == before["source"]
    assert after["files"] != before["files"]

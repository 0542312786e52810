"""The modules that need no word: what their views show leads nowhere by itself."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import types

import pytest

from muniment.errors import RefusedError
from muniment_plugins.capsule import Policy
from muniment_plugins.capsule.child.guard import build_views
from muniment_plugins.capsule.language.companions import COMPANIONS
from muniment_plugins.capsule.language.harmless_modules import HARMLESS
from muniment_plugins.capsule.language.rules import (
    EXPOSED,
    FRAMES,
    TEXTS,
    WITHHELD,
    is_guarded,
)
from reachable_objects import reached

REACHED: dict[str, dict[str, str]] = {
    "collections": {"builtins.eval": "of namedtuple: names that are identifiers"},
    "dataclasses": {"builtins.exec": "of dataclass: fields that are identifiers"},
    "shlex": {"builtins.open": "of split: only what its text includes by source"},
    "typing": {"builtins.eval": "of NamedTuple, as in collections"},
    "zoneinfo": {
        "builtins.open": "of available_timezones: a list of the system's",
        "os.listdir": "of available_timezones: folders of the system's",
        "os.scandir": "of available_timezones: folders of the system's",
    },
}
"""What is reached nevertheless, and why a program cannot choose what happens there."""

KNOWN = ("numpy", "pandas", "scipy", "sklearn")


def listed() -> list[str]:
    """Return what is listed of the standard library, as far as this Python has it."""
    above = HARMLESS & set(COMPANIONS)
    below = {f"{name}" for package in above for name in COMPANIONS[package]}
    names = HARMLESS | below
    return sorted(n for n in names if importlib.util.find_spec(n) is not None)


@pytest.mark.parametrize("name", listed())
def test_what_is_listed_opens_starts_imports_and_evaluates_nothing(name: str) -> None:
    """From the public names of a listed module no sink is reached, but for a reason."""
    importlib.import_module(name)
    shown = vars(build_views([name])[name])
    assert set(reached(shown)) <= set(REACHED.get(name, {}))


def test_the_search_finds_what_there_is_to_find() -> None:
    """What is known to open, start and evaluate is found, in modules and in functions."""
    assert "builtins.open" in reached(
        {"fileinput": importlib.import_module("fileinput").FileInput}
    )
    assert "subprocess.Popen" in reached(
        {"p": importlib.import_module("subprocess").call}
    )
    assert "builtins.eval" in reached(
        {"h": importlib.import_module("typing").get_type_hints}
    )
    io = importlib.import_module("io")
    found = set(reached(vars(io)))
    assert "builtins.open" in found
    assert found & {"io.FileIO", "_io.FileIO"}  # as this Python names it
    everything = {n: set(reached(vars(importlib.import_module(n)))) for n in REACHED}
    assert all(REACHED[name].keys() & found for name, found in everything.items())


@pytest.mark.parametrize("name", sorted(sys.stdlib_module_names - HARMLESS))
def test_what_is_not_listed_needs_a_word(name: str) -> None:
    """A module of the standard library is dangerous unless it is listed."""
    with pytest.raises(RefusedError, match="would open the capsule"):
        Policy(allowed_imports=(name,))


@pytest.mark.parametrize("package", KNOWN)
def test_submodules_that_are_not_listed_need_a_word(package: str) -> None:
    """Of a known package, a version's new submodules are dangerous until somebody looks."""
    paths = importlib.import_module(package).__path__
    found = {f"{package}.{one.name}" for one in pkgutil.iter_modules(paths)}
    beyond = found - COMPANIONS[package]
    assert beyond
    for name in beyond:
        with pytest.raises(RefusedError, match="would open the capsule"):
            Policy(allowed_imports=(name,))
    every = [*COMPANIONS[package]]
    assert all(importlib.util.find_spec(name) is not None for name in every)


def test_the_names_of_frames_are_all_there() -> None:
    """Whatever this Python hangs on frames, code, traces and generators is forbidden."""
    kinds = (
        *(types.FrameType, types.CodeType, types.TracebackType),
        *(types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType),
    )
    prefixes = ("ag_", "co_", "cr_", "f_", "gi_", "tb_")
    names = {name for kind in kinds for name in dir(kind) if name.startswith(prefixes)}
    assert names - FRAMES == set()


def test_what_tables_write_is_guarded() -> None:
    """A method of pandas that takes a place to write to is known, or unknown and shut."""
    import inspect  # noqa: PLC0415 - here alone

    pd = pytest.importorskip("pandas")

    places = {"path", "path_or_buf", "buf", "excel_writer", "con", "path_or_buffer"}
    kinds = [kind for kind in vars(pd).values() if isinstance(kind, type)]
    kinds.append(type(pd.DataFrame({"a": [1]}).style))
    writers = {
        name
        for kind in kinds
        for name, value in inspect.getmembers(kind, inspect.isfunction)
        if name[0] != "_" and places & inspect.signature(value).parameters.keys()
    }
    assert {"to_csv", "to_excel", "to_sql"} <= writers
    assert {name for name in writers if not is_guarded(name)} <= {"info"}
    assert writers >= TEXTS - {"to_markdown"}


def test_views_hold_what_is_exposed_and_not_what_is_withheld() -> None:
    """Lists of names are of names that there are."""
    for name, names in EXPOSED.items():
        importlib.import_module(name)
        assert names <= vars(build_views([name])[name]).keys()
        assert names <= vars(importlib.import_module(name)).keys()
    assert "getnode" in WITHHELD["uuid"]

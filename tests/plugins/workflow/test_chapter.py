"""Everything that the chapter shows in code stands in the table, and runs as an example.

``MUNIMENT_CHAPTER`` names the chapter's text; without it the table is held against the tree
alone, and not against the chapter.
"""

from __future__ import annotations

import ast
import os
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from muniment_plugins import evals, workflow
from muniment_plugins.workflow import sessions
from muniment_plugins.workflow.engine.options import ELSEWHERE, OPTIONS

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
EXAMPLES = ROOT / "examples"
TABLE: dict[str, Any] = tomllib.loads((HERE / "chapter.toml").read_text())
CALLS = [(file, name) for file, names in TABLE["call"].items() for name in names]
OFFERED = {*workflow.__all__, *evals.__all__, *sessions.__all__}
MODULES = {"muniment_plugins.workflow", "muniment_plugins.evals"}
MODULES |= {"muniment_plugins.workflow.sessions"}


@cache
def called_in(file: str) -> frozenset[str]:
    """Return the functions of the product that an example imports and calls."""
    tree = ast.parse((EXAMPLES / file).read_text())
    brought = {
        name.name
        for one in ast.walk(tree)
        if isinstance(one, ast.ImportFrom) and one.module in MODULES
        for name in one.names
    }
    used = {
        one.func.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }
    handed_on = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    return frozenset(brought & (used | handed_on))


@cache
def examples_by_test() -> dict[str, set[str]]:
    """Return test → the examples that it names."""
    found: dict[str, set[str]] = {}
    for file in (ROOT / "tests").glob("test_examples*.py"):
        for test in ast.parse(file.read_text()).body:
            if isinstance(test, ast.FunctionDef):
                found[test.name] = {
                    one.value
                    for one in ast.walk(test)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    return found


@pytest.mark.parametrize("block", TABLE["block"], ids=lambda one: one["number"])
def test_every_block_runs(block: dict[str, Any]) -> None:
    """Each example of a block is there, and a test that is there runs it."""
    known = examples_by_test()
    run = set[str]().union(*(known[test] for test in block["by"]))
    assert {*block["examples"]} <= run
    assert all((EXAMPLES / one).is_file() for one in block["examples"])


def test_blocks_are_numbered() -> None:
    """No block is left out of the count."""
    numbers = [one["number"] for one in TABLE["block"]]
    assert numbers == [*range(1, 9)]


@pytest.mark.parametrize(("file", "name"), CALLS)
def test_every_function_is_called(file: str, name: str) -> None:
    """What the chapter names can be imported, and an example that a test runs calls it."""
    assert name in OFFERED
    assert name in called_in(file)
    assert any(file in named for named in examples_by_test().values())


def is_script(file: Path) -> bool:
    """Tell whether a file is run by itself; others are parts of such."""
    if file.suffix == ".py":
        return file.parent.name == "workflow" or "__main__" in file.read_text()
    return file.suffix == ".sh"


def test_every_example_is_run_and_listed() -> None:
    """No example lies about: a test runs each, and the list for readers has each."""
    there = {
        str(one.relative_to(EXAMPLES))
        for folder in ("workflow", "agents")
        for one in (EXAMPLES / folder).iterdir()
        if is_script(one)
    }
    assert there
    run = set[str]().union(*examples_by_test().values())
    assert there <= run
    listed = (EXAMPLES / "workflow" / "README.md").read_text()
    links = {*re.findall(r"\]\(([\w./]+)\)", listed)}
    paths = {Path(os.path.normpath(EXAMPLES / "workflow" / one)) for one in links}
    assert {EXAMPLES / one for one in there} <= paths
    assert all(one.exists() for one in paths)


@pytest.mark.parametrize("name", TABLE["option"])
def test_every_option_is_one_or_refused(name: str) -> None:
    """An option of the chapter is one here, or is refused with what does it."""
    if TABLE["option"][name] == "option":
        assert name in {*OPTIONS.required, *OPTIONS.optional}
    else:
        assert ELSEWHERE[name]


def chapter() -> str:
    """Return the chapter, or skip."""
    named = os.environ.get("MUNIMENT_CHAPTER")
    if not named:
        pytest.skip("no chapter: set MUNIMENT_CHAPTER")
    return Path(named).read_text()


def test_the_chapter_has_no_more_blocks() -> None:
    """Each block begins where the table says, in that order; no code is outside of them."""
    text = chapter()
    at = 0
    for one in TABLE["block"]:
        at = text.index(one["begins"], at)
    paragraphs = re.split(r"\n\s*\n", text)
    shown = [one for one in paragraphs if re.search(r"[{(]\n", one)]
    first = [one["begins"].strip() for one in TABLE["block"]]
    again = [*first, "let graph = workflow_graph(", "let plan = artifact_derive("]
    again += ["let plan = action_graph(", "let context = artifact_context("]
    again += ["let report = workflow_validate("]
    left = [one for one in shown if not any(begin in one for begin in again)]
    assert left == []


def test_the_chapter_names_no_more() -> None:
    """Each function and option that the chapter names is in the table."""
    text = chapter()
    named = {*re.findall(r"(?<![.\w])([a-z][a-z_]*)\(", text)}
    known = {name for _, name in CALLS} | {*TABLE["host"]} | {"review_tools"}
    assert named <= known, named - known
    listed = text.partition("Options currently include:")[2].partition("Resuming")[0]
    told = {*re.findall(r"• (\w+)", listed)}
    assert told == {*TABLE["option"]}

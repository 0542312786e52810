"""The page of the public API says what the code says."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import muniment

ROOT = Path(__file__).parents[1]
USERS = sorted(
    file.relative_to(ROOT)
    for top in ("cli/muniment_cli", "plugins/muniment_plugins")
    for file in (ROOT / top).rglob("*.py")
)


@pytest.fixture(scope="module")
def page() -> ModuleType:
    """Give the script that writes the page."""
    spec = importlib.util.spec_from_file_location("api", ROOT / "tools" / "api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(page: ModuleType) -> None:
    """After a change: `make docs`."""
    assert page.main(["--check"]) == 0


def test_every_public_name_is_documented(page: ModuleType) -> None:
    """Each name of the package has an entry, and each entry says something."""
    text = page.api()
    for name in muniment.__all__:
        entry = (f"\n### muniment.{name}\n", f"\n## {name}\n", f"\n| `{name}` |")
        assert any(one in text for one in (*entry, f"\n`@{name}` marks"))
    for entry in text.split("\n### ")[1:]:
        said = entry.partition("```\n\n")[2].partition("\n## ")[0]
        assert said.strip(), entry


def _taken(file: Path) -> Iterator[tuple[str, str | None]]:
    """Yield each module of ours below the front door that *file* imports, and the name.

    What is imported for its type alone counts, too.
    """
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.startswith("muniment."):
                    yield one.name.removeprefix("muniment."), None
        elif isinstance(node, ast.ImportFrom) and node.module:
            package, _, module = node.module.partition(".")
            for one in node.names if package == "muniment" else ():
                if module:
                    yield module, one.name
                elif one.name not in muniment.__all__:
                    yield one.name, None


def test_plugins_and_shell_import_what_is_public(page: ModuleType) -> None:
    """They import only what the page lists; a stranger's plugin can do all they do."""
    names = {
        module: importlib.import_module(f"muniment.{module}").__all__
        for module in page.MODULES
    }
    hidden = [
        f"{file}: muniment.{module} {name or ''}"
        for file in USERS
        for module, name in _taken(file)
        if module not in names or (name is not None and name not in names[module])
    ]
    assert hidden == []


def test_nobody_reaches_below_the_ledger() -> None:
    """What is under a ledger is the kernel's own; the ledger answers for it."""
    below = [
        f"{file}:{node.lineno}"
        for file in USERS
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in ("port", "store")
        and "ledger" in ast.unparse(node.value)
    ]
    assert below == []


def test_no_module_is_public_for_nothing(page: ModuleType) -> None:
    """Each module that the page promises to keep is used by somebody outside."""
    used = {module for file in USERS for module, _ in _taken(file)}
    assert set(page.MODULES) == used

"""The page of the public API says what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import muniment

ROOT = Path(__file__).parents[1]


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
        assert f"\n### muniment.{name}\n" in text or f"\n## {name}\n" in text
    for entry in text.split("\n### ")[1:]:
        said = entry.partition("```\n\n")[2].partition("\n## ")[0]
        assert said.strip(), entry

"""The pictures of the documentation are there, small, and made by a command."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from browser import NEEDS_BROWSER

ROOT = Path(__file__).resolve().parents[4]
NAMES = {f"report-{one}.png" for one in ("light", "dark", "phone", "paper", "compared")}


def test_they_are_there_and_shown() -> None:
    """Five pictures, each on the page and of at most 150 kB."""
    pictures = {one.name: one for one in (ROOT / "docs" / "pictures").iterdir()}
    page = (ROOT / "docs" / "how-to" / "evidence-bundles.md").read_text()
    assert pictures.keys() == NAMES
    for name, path in pictures.items():
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) <= 150_000
        assert f"(../pictures/{name})" in page


@NEEDS_BROWSER
@pytest.mark.slow
def test_the_command_takes_them(tmp_path: Path) -> None:
    """From the pages of the tour and of an experiment, in the browser of the tests."""
    spec = importlib.util.spec_from_file_location(
        "pictures", ROOT / "tools" / "pictures.py"
    )
    assert spec is not None
    assert spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    assert {one.name for one in pictures.take(tmp_path)} == NAMES
    assert len({one.read_bytes() for one in tmp_path.iterdir()}) == len(NAMES)

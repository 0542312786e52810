"""What a replay may read of this machine: Python, and what is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from muniment_plugins.capsule.isolation.readable_paths import interpreter


@pytest.mark.parametrize("installed", ["package", "module"])
def test_what_is_installed_where_it_is_edited_is_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: str
) -> None:
    """An editable install maps names to where packages stand, and modules less ``.py``."""
    (tmp_path / "package").mkdir()
    (tmp_path / "module.py").write_text("")
    finder = ModuleType("__editable___lab_finder")
    finder.MAPPING = {"lab": str(tmp_path / installed)}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, finder.__name__, finder)
    wanted = {"package": "package", "module": "module.py"}[installed]
    found = [one for one in interpreter() if one.startswith(str(tmp_path))]
    assert found == [str(tmp_path / wanted)]

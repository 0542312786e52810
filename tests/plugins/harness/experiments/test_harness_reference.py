"""The reference page of the harness names everything that is there, and no more."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from muniment_plugins.harness import Spec
from muniment_plugins.harness.vocabulary import TYPES

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "reference" / "harness.md").read_text()
SOURCES = sorted((ROOT / "plugins" / "muniment_plugins" / "harness").rglob("*.py"))


def test_every_type_is_listed() -> None:
    """Each event type of the harness has its row."""
    listed = set(re.findall(r"^\| `(\w+\.\w+)` \|", PAGE, re.MULTILINE))
    assert listed == {one.name for one in TYPES}


def test_every_rule_is_listed() -> None:
    """Each rule that the harness can name has its row."""
    said = {
        rule
        for file in SOURCES
        for rule in re.findall(r'"(harness/[a-z-]+)"', file.read_text())
    }
    listed = set(re.findall(r"^\| `(harness/[a-z-]+)` \|", PAGE, re.MULTILINE))
    assert listed == said


def test_every_bound_is_listed() -> None:
    """Each member of a spec has its row."""
    _, _, below = PAGE.partition("## Bounds")
    listed = re.findall(r"^\| `(\w+)` \|", below.partition("\n## ")[0], re.MULTILINE)
    assert {*listed} == {one.name for one in fields(Spec)}

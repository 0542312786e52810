"""Every rule of the capsule stands in its manual."""

from __future__ import annotations

import re
from pathlib import Path

import muniment_plugins.capsule

SOURCE = Path(muniment_plugins.capsule.__file__).parent
PAGE = Path(__file__).parents[4] / "docs/reference/capsule.md"

SPELT = (
    r'rule="(?:capsule/)?([a-z-]+)"',  # where an error is raised
    r'refuse\(\s*[\w.]+,\s*"([a-z-]+)"',  # by the reader of programs
    r'(?:error_of|Unsendable)\(\s*"([a-z-]+)"',  # of an execution
)


def test_every_rule_is_in_the_manual() -> None:
    """Who meets a rule finds what breaks it, and nothing is listed that is not."""
    text = "\n".join(path.read_text() for path in sorted(SOURCE.rglob("*.py")))
    used = {rule for form in SPELT for rule in re.findall(form, text)}
    told = set(re.findall(r"`capsule/([a-z-]+)`", PAGE.read_text()))
    assert used - told == set()
    assert {rule for rule in told - used if f'"{rule}"' not in text} == set()

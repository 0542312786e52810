"""The table attack, finding, exit code in docs/trust.md is what was tried today."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacks_on_ledgers import ATTACKS, Attack, carried_out, table

PAGE = Path(__file__).parents[3] / "docs" / "trust.md"

HARMLESS = (
    "does nothing",
    "removes the checkpoints",
    "erases a blob by an event that says so",
    "adds an event of the year 9999",
    "counts no event twice in a series",
    "states what is false",
    "states that a replay was acceptable",
)
"""What is not an attack, or what no ledger can find."""


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: f"{one.holder}: {one.does}")
def test_no_attack_is_called_well(attack: Attack, tmp_path: Path) -> None:
    """Every attack is told apart from an honest ledger, but those that none can tell."""
    report = carried_out(attack, tmp_path)
    assert report.ok == (attack.does in HARMLESS), str(report)


def test_the_page_says_so(tmp_path: Path) -> None:
    """Each line of the table stands on the page as it comes out now."""
    text = PAGE.read_text()
    for line in table(tmp_path):
        assert f"{line}\n" in text, line

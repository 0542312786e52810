"""Other people's verifiers take the proof of one event, and refuse what they look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from foreign_tools import TOOLS, UNSEEN, lacking, table
from muniment.ledger import Ledger
from single_event import TAMPERS, Handed, handed_over

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "verify-without-muniment.md"
INDEX = 2


@pytest.fixture(scope="module", params=["ed25519", "p256"])
def handed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Handed]:
    """Give an event of a tree of five: one of six has the same shape around it."""
    base, kind = tmp_path_factory.mktemp("handed"), str(request.param)
    with Ledger.create(
        base / "ledger.db", home=base / "home", plugins=(), algorithm=kind
    ) as ledger:
        ledger.append_many([("note.added", {"text": f"note {i}"}) for i in range(4)])
        ledger.checkpoint()
        yield handed_over(ledger, INDEX)


@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_honest_is_accepted(handed: Handed, tool: str, tmp_path: Path) -> None:
    """Every tool accepts what muniment hands out."""
    if reason := lacking(tool):
        pytest.skip(reason)

    assert TOOLS[tool](handed, tmp_path)


@pytest.mark.parametrize("tamper", TAMPERS)
@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_changed_is_refused(
    handed: Handed, tool: str, tamper: str, tmp_path: Path
) -> None:
    """A tool refuses each change but those that the table says it does not look at."""
    if reason := lacking(tool):
        pytest.skip(reason)
    changed = TAMPERS[tamper](handed)

    assert changed != handed
    assert TOOLS[tool](changed, tmp_path) == (tamper in UNSEEN[tool])


def test_every_tool_refuses_six_changes() -> None:
    """No tool of the table is there for show."""
    refused = {tool: set(TAMPERS) - unseen for tool, unseen in UNSEEN.items()}

    assert refused.keys() == TOOLS.keys()
    assert min(map(len, refused.values())) >= 6


def test_the_page_opens_with_the_table() -> None:
    """*Verify without muniment* says of each tool what it refuses and what it accepts."""
    opening = PAGE.read_text().partition("\n## The files")[0]

    assert "\n".join(table()) in opening

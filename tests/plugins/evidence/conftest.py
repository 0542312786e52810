"""Real bundles of real runs, written once for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from bundled import Bundles, evidence_plugins, program
from muniment.ledger import Ledger
from muniment_plugins.evidence import write_bundle

if TYPE_CHECKING:
    from browser import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Lend one browser to the tests of a file; each page has a profile of its own.

    No longer: while Playwright runs, no test of the process can run a loop.
    """
    from browser import chromium  # noqa: PLC0415 - most tests open no page

    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundles]:
    """Give two runs of a ledger, in bundles; one blob of the first is erased."""
    base = tmp_path_factory.mktemp("bundles")
    with Ledger.create(
        base / "ledger.db", home=base / "home", plugins=evidence_plugins()
    ) as ledger:
        first = ledger.execute(program).run_id
        second = ledger.execute(program, params={"name": "b"}).run_id
        (asked,) = ledger.events(run=first, type="tool.requested")
        blob = asked.raw["request"]
        assert isinstance(blob, dict)
        ledger.erase(str(blob["$blob"]), reason="asked to")
        ledger.checkpoint()
        written = write_bundle(ledger, first, base / "first")
        write_bundle(ledger, first, base / "raw", raw=True)
        write_bundle(ledger, second, base / "second")
        shown = ["llm.*", "llm.completed/*"]
        write_bundle(ledger, first, base / "redacted", disclose=shown)
        yield Bundles(
            ledger,
            first,
            second,
            base / "first",
            base / "raw",
            base / "second",
            base / "redacted",
            base / "nobody",
            written.root,
        )

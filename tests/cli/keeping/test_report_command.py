"""`muniment report`: a page, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment import Run
from muniment.ledger import Ledger


def program(run: Run) -> int:
    """Ask once."""
    run.record("claim.stated", {"id": "c1", "text": "it holds"})
    run.effect("tool", {"name": "search"}, lambda request: request)
    return 1


@pytest.fixture
def run(work: Path) -> str:
    """Give a ledger here, with a run."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        return ledger.execute(program).run_id


def test_both_forms(shell: Any, run: str, work: Path) -> None:
    """The ending of the name chooses; the ledger stays as it is, and needs no key."""
    before = shell("verify", "--json").json["size"]
    page = shell("report", run[:12], "-o", "report.html")
    told = shell("report", run, "-o", "report.md", "--json").json

    assert (page.code, "report.html" in page.out) == (0, True)
    assert f"muniment bundle {run}" in page.err
    assert (work / "report.html").read_text().startswith("<!doctype html>")
    assert told["bytes"] == (work / "report.md").stat().st_size
    assert (told["run"], told["checkpoint"]) == (run, before)
    assert shell("verify", "--json").json["size"] == before


def test_usage(shell: Any, run: str, work: Path) -> None:
    """Other endings, and names that are taken."""
    (work / "taken.html").write_text("mine")
    taken = shell("report", run, "-o", "taken.html")
    other = shell("report", run, "-o", "report.pdf")

    assert (taken.code, other.code) == (2, 2)
    assert (work / "taken.html").read_text() == "mine"
    assert "a report is .html or .md" in other.err


def test_a_page_from_a_bundle(
    shell: Any, run: str, work: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The receiver of a bundle writes the page, and compares it, without the ledger."""
    assert shell("bundle", run, "-o", "evidence.zip").code == 0
    (work / ".muniment").rename(tmp_path_factory.mktemp("elsewhere") / "ledger")
    page = shell("report", "evidence.zip", "-o", "page.html")
    root = shell("verify", "evidence.zip", "--json").json["exit_code"]
    checked = shell("--ledger", "evidence.zip", "verify", "page.html", "--json")

    assert (page.code, root) == (0, 0)
    assert (checked.code, checked.json["page"]["verdict"]) == (0, "agrees")
    text = (work / "page.html").read_text()
    (work / "page.html").write_text(text.replace("it holds", "it fails", 1))
    changed = shell("--ledger", "evidence.zip", "verify", "page.html", "--json")
    assert (changed.code, changed.json["page"]["verdict"]) == (1, "wrong")

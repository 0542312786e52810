"""Runs that evals judge: a letter that is checked, and mended once if its node says so."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

from muniment.ledger import Ledger
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import Document, edge, graph_of, stage

__all__ = ["GIVEN", "letter", "looped", "run_letter", "writes"]

GIVEN = {"id": "g", "created_at": "2026-01-01T00:00:00Z", "text": "given"}


def writes(given: StageInput) -> str:
    """Write the text that the node says, and mend the file on the second visit."""
    file = Path(str(given.metadata.get("file", "letter.txt")))
    mended = file.exists() and given.metadata.get("mends")
    text = "Refund" if mended else str(given.metadata.get("text", "Refund"))
    file.write_text(text)
    return f"{text} in {file.absolute()}"


def letter(text: str = "Refund", **more: Any) -> Document:
    """Return a graph that writes a letter, and checks it."""
    write = {"kind": "stage", "handler": "letters:writes"}
    check = {"command": "cat letter.txt", "assert_text": "Refund"}
    nodes = {
        "draft": {**write, "metadata": {"text": text, **more}, "max_visits": 3},
        "check": {"kind": "verify", "verify": check},
        "send": stage(),
    }
    ways = [edge("draft", "check"), edge("check", "send", "passed")]
    return graph_of(nodes, *ways, name="letter")


def looped() -> Document:
    """Return the same with a way back, whose first check fails."""
    graph = letter("Sorry", mends=True)
    graph["edges"].append(edge("check", "draft", "failed"))
    return graph


def run_letter(
    book: Ledger, graph: Document | None = None, cwd: str = ".", **more: Any
) -> str:
    """Run a letter in a folder; return the run."""
    with chdir(cwd):
        Path("letter.txt").unlink(missing_ok=True)
        given = more.pop("options", {"cwd": str(Path.cwd())})
        task = more.pop("task", "T")
        wanted = graph or letter()
        return workflow_execute(book, task, wanted, [GIVEN], given, **more).run_id

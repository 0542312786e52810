"""Stages that keep what they are given, a model that keeps what it is asked."""

from __future__ import annotations

from typing import Any

from muniment import hookimpl, replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import StageInput, WorkflowDone, workflow_execute
from workflow_stages import Document

__all__ = ["SEEN", "Answers", "asking", "finished", "seeing", "sees", "text"]

SEEN: list[StageInput] = []
"""What stages were given in this process."""


def sees(given: StageInput) -> str:
    """Keep what it is given."""
    SEEN.append(given)
    return f"{given.node} saw {[one.id for one in given.artifacts]}"


def seeing(**more: object) -> Document:
    """Return a stage that keeps what it is given."""
    return {"handler": sees, **more}


class Answers:
    """A provider whose model says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.says = "PASS: it is polite"

    @hookimpl
    def complete_prompt(self, request: Any) -> object:
        """Answer."""
        self.asked.append(request)
        return {"text": self.says}


def finished(
    desk: Ledger, graph: Document, *given: object, **options: object
) -> WorkflowDone:
    """Run *graph*, which has to come to its end, and replay it."""
    done = workflow_execute(desk, "a <task>", graph, given, options)
    assert done.status == "completed", done.error
    report = replay(desk, done.run_id)
    assert report.verdict == "acceptable", report
    assert report.result_digest == done.result_digest
    return done


def text(number: int, words: str) -> Document:
    """Return an artifact."""
    time = "2026-01-01T00:00:00Z"
    return {"id": f"a{number}", "kind": "artifact", "created_at": time, "text": words}


def asking(**more: object) -> Document:
    """Return a stage that asks the model."""
    return {"mode": "llm", "model_policy": {"model": "test:1"}, **more}

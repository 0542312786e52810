"""Prompts in every format that providers speak, and what asks them twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model_server import ModelServer
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run

__all__ = ["EVERY", "KEY", "SPOKEN", "answer_of"]

KEY = "sk-canary-99887766554433221100aabbccddeeff"
SPOKEN: list[dict[str, Any]] = [
    {"model": "openai:gpt-4o-mini", "api": "chat"},
    {"model": "openai:gpt-4o-mini", "api": "responses"},
    {"model": "anthropic:claude-3-haiku-20240307"},
]
EVERY = pytest.mark.parametrize("spoken", SPOKEN, ids=["chat", "responses", "messages"])


def answer_of(
    ledger: Ledger, server: ModelServer, program: Callable[[Run], object]
) -> Any:
    """Return what *program* gives, live and from the record alike."""
    done = ledger.execute(program)
    done.raise_failure()
    calls = len(server.calls)
    report = replay(ledger, done.run_id, program=program)

    assert report.verdict == "acceptable", str(report)
    assert len(server.calls) == calls
    return done.result

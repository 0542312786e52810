"""A model that says how much it was told, and nodes that converse with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from muniment import hookimpl
from muniment.ledger import Ledger
from muniment_plugins.workflow.sessions import agent_session_snapshot
from workflow_stages import Document

__all__ = ["Counting", "answers", "shown", "talk"]


class Counting:
    """A model that says how many messages it was given, and thinks beside it."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []

    @hookimpl
    def complete_prompt(self, request: Mapping[str, Any]) -> object:
        """Answer."""
        self.asked.append(request)
        if "Judge" in str(request):
            return {"text": "PASS", "reasoning": "secret"}
        count = len(request["messages"]) if "messages" in request else "nothing"
        return {"text": f"seen {count}", "reasoning": "secret", "model": "counting"}


def talk(session: str | None = "desk", **more: Any) -> Document:
    """Return a node that asks the model in a session."""
    policy: Document = {"model": "x"}
    if session is not None:
        policy["session_id"] = session
    return {"kind": "stage", "mode": "llm", "model_policy": policy, **more}


def shown(ledger: Ledger, session: str, **how: Any) -> list[dict[str, Any]]:
    """Return the messages of a session."""
    found = agent_session_snapshot(ledger, session, **how)
    assert found is not None
    return cast("list[dict[str, Any]]", found["messages"])


def answers(ledger: Ledger, session: str) -> list[str]:
    """Return what the model said in a session."""
    return [
        one["content"] for one in shown(ledger, session) if one["role"] == "assistant"
    ]

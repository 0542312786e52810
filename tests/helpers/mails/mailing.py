"""Handlers that send mail to the run that they are in, as somebody outside would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muniment import Run, current_run
from muniment.ledger import Ledger
from muniment_plugins.workflow import StageCall, StageFailed, StageInput

__all__ = [
    "OUTSIDE",
    "Outside",
    "answers",
    "continues",
    "outside",
    "publishes",
    "receives",
    "refuses",
    "waits",
]


class Outside:
    """What happens outside while a stage of a run works."""

    def __init__(self) -> None:
        self.acts: dict[str, list[Callable[[Ledger, str], object]]] = {}
        self.ledger: Ledger | None = None

    def when(self, node: str, act: Callable[[Ledger, str], object]) -> None:
        """Let *act* happen once, as *node* works; it gets the ledger and the run."""
        self.acts.setdefault(node, []).append(act)


OUTSIDE = Outside()
"""The outside of the run of this test."""


def outside(given: StageInput) -> str:
    """Let happen what is to happen; say which artifacts there are."""
    assert OUTSIDE.ledger is not None
    for act in OUTSIDE.acts.pop(given.node, []):
        act(OUTSIDE.ledger, current_run().id)
    return ", ".join(f"{one.kind} {one.text or one.data}" for one in given.artifacts)


def receives(run: Run, stage: StageCall) -> Any:
    """Say what the letter says that its node's metadata names; pause until it is there."""
    del run
    mail = stage.mail.receive(str(stage.metadata.get("letter", "go")))
    assert mail is not None
    return f"{mail.kind} {mail.name}: {mail.payload}"


def waits(run: Run, stage: StageCall) -> Any:
    """Wait for a letter, as long as its node's metadata says; answer it if it can be."""
    del run
    seconds = float(str(stage.metadata.get("seconds", 0)))
    mail = stage.mail.receive("go", timeout_s=seconds)
    if mail is not None and mail.kind == "update":
        stage.mail.respond_update(mail, {"got": mail.payload})
    return "nothing" if mail is None else f"{mail.name}: {mail.payload}"


def publishes(run: Run, stage: StageCall) -> Any:
    """Publish its progress."""
    del run
    stage.mail.publish_query("progress", {"at": stage.node})
    return "published"


def continues(run: Run, stage: StageCall) -> Any:
    """Go on as new, until three runs have been made."""
    del run
    if len([one for one in stage.artifacts if one.title == "count"]) < 2:
        stage.mail.continue_as_new(f"{stage.task}+")
    return f"{stage.task} done"


def answers(given: StageInput) -> Any:
    """Answer an update: with what it says, and how many artifacts there are."""
    return {"set": given.item, "of": len(given.artifacts)}


def refuses(given: StageInput) -> Any:
    """Refuse an update."""
    raise StageFailed(f"{given.item} is too much")

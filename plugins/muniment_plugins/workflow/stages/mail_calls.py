"""The mail of a run, as a handler that is a part of the program sees it.

    def wait(run: Run, stage: StageCall) -> object:
        go = stage.mail.receive("go")                  pauses the run until it is there
        stage.mail.publish_query("progress", {"done": 3})
        more = stage.mail.receive("more", timeout_s=5)
        if more is not None and more.kind == "update":
            stage.mail.respond_update(more, "fine")

Rules:

- With a time, a handler waits in its process, and gets None when the time is over. Without
  one the run pauses until the letter is there: a resume looks again, and nothing waits in
  between.
- In a race nobody receives: the branch that loses would have taken what it got.
- An update is answered once, by whoever received it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from muniment.documents.places import At
from muniment.errors import UsageError
from muniment.programs.awaiting import driven
from muniment_plugins.workflow.artifacts.plain_json import plain_json
from muniment_plugins.workflow.mailbox.box import RunMailbox
from muniment_plugins.workflow.mailbox.letters import (
    Mail,
    require_name,
    require_seconds,
)
from muniment_plugins.workflow.mailbox.views import STATUS
from muniment_plugins.workflow.runtime.failures import GoesOnAsNew
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from muniment.runs.run import Run
    from muniment_plugins.workflow.runtime.seams import NodeVisit

__all__ = ["MailCalls", "answered", "published"]


@dataclass(frozen=True, slots=True)
class MailCalls:
    """Receives and answers, in the lane of one node."""

    _here: NodeVisit

    def receive(self, name: str, *, timeout_s: float | None = None) -> Mail | None:
        """Return the next letter *name*, a signal or an update.

        Args:
            name: what the letter is called.
            timeout_s: how many seconds to wait for it; None to pause the run until it
                is there.

        Returns:
            The letter; None if the time is over.

        Raises:
            RunPaused: it is not there yet; it is not an ``Exception``.
            UsageError: the workflow is asynchronous, or the path is in a race.

        """
        if self._here.conduct.lanes.is_async:
            raise UsageError(
                "the workflow is asynchronous",
                rule="workflow/async",
                place=self._here.node.name,
                remedy="`await stage.mail.areceive(…)`",
            )
        found = driven(self.areceive(name, timeout_s=timeout_s))
        return cast("Mail | None", found)

    async def areceive(
        self, name: str, *, timeout_s: float | None = None
    ) -> Mail | None:
        """Do as `receive` does, and let other tasks run."""
        require_name(name, "letter")
        if timeout_s is not None:
            require_seconds(timeout_s, f"{self._here.node.name}: timeout_s")
        here, look = self._here, 0
        if here.path.in_race:
            raise UsageError(
                "nobody receives mail in a race: who loses it would have taken it",
                rule="workflow/mail-race",
                place=here.node.name,
                remedy="receive it before the fork, or after the join",
            )
        mailbox = cast("RunMailbox", here.conduct.mailbox)
        while True:
            request = {"receive": name, "look": look, "timeout_s": timeout_s}
            found = await mailbox.take(
                here.lane,
                {key: one for key, one in request.items() if one is not None},
                lambda said: said["kind"] != "control" and said["name"] == name,
                most=1,
                wait_s=timeout_s or 0.0,
                goes_on=lambda: not here.path.stop.is_set,
            )
            if found or timeout_s is not None:
                return found[0] if found else None
            here.lane.pause(f"{here.node.name} waits for the letter {name}")
            look += 1

    def respond_update(self, mail: Mail, value: object = None) -> None:
        """Answer the update *mail*, which `receive` gave.

        Raises:
            UsageError: it is no update, it was answered before, or the value has no
                JSON form.

        """
        if mail.kind != "update":
            raise UsageError(
                f"{mail.name} is a {mail.kind}, and nobody waits for an answer",
                rule="workflow/mail-kind",
                place=self._here.node.name,
                remedy="answer updates only",
            )
        told = plain_json(value, At(f"the answer to {mail.name}", "workflow"))
        answered(self._here, mail, {"value": told})

    def publish_query(self, name: str, value: object) -> None:
        """Let *value* be what whoever queries *name* is told from now on."""
        require_name(name, "query")
        if name == STATUS:
            raise UsageError(
                f"{STATUS} is what the run itself says of its state",
                rule="workflow/mail-name",
                place=self._here.node.name,
                remedy="publish it under another name",
            )
        told = plain_json(value, At(f"the query {name}", "workflow"))
        published(self._here.lane, "query.published", {"query": name, "value": told})

    def continue_as_new(self, task: str | None = None) -> NoReturn:
        """End this run here, and go on in a new one, from the first node of the graph.

        The new run is given all artifacts of this one, and the letters that nobody took.

        Raises:
            GoesOnAsNew: always; let it pass.
            UsageError: it is called in a branch, or in a run that another one called.

        """
        if not (self._here.path.is_main and self._here.conduct.may_continue):
            raise UsageError(
                "a branch, or a run that waits for its caller, cannot go on as new",
                rule="workflow/continue",
                place=self._here.node.name,
                remedy="call it on the main path of the workflow itself",
            )
        raise GoesOnAsNew(task)


def answered(here: NodeVisit, mail: Mail, said: Mapping[str, object]) -> None:
    """State the answer to the update *mail*: a ``value`` or an ``error``.

    Raises:
        UsageError: the run has answered it before.

    """
    if not cast("RunMailbox", here.conduct.mailbox).answers(mail.hash):
        raise UsageError(
            f"{mail.name} was answered before: whoever sent it was told so",
            rule="workflow/mail-answered",
            place=here.node.name,
            remedy="answer an update once",
        )
    published(
        here.lane, "update.answered", {"mail": mail.hash, "name": mail.name, **said}
    )


def published(lane: Run, kind: str, data: Mapping[str, object]) -> None:
    """State a fact that others wait for: durably, at once."""
    lane.record(kind, EngineFact(data))
    lane.flush()

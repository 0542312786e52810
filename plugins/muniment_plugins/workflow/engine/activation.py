"""One visit of a node: what it is given, does, and leaves behind.

Rules:

- A visit has a scope of its own, ``<node>.<visit>``, and so have its effects and facts.
- The work is tried as often as the node's policy says, each failed attempt is a fact, and
  the wait in between is a durable timer.
- Artifacts get the scope as their id, so that a replay makes the same ones; in a child
  run with the scope of the node that runs it before: what it was given has other ids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed
from muniment.runs.run import Run
from muniment_plugins.workflow.artifacts.artifact import Artifact, weight_of
from muniment_plugins.workflow.artifacts.kinds import priority_of
from muniment_plugins.workflow.artifacts.plain_json import plain_json
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.runtime.artifact_rows import row_of, time_of
from muniment_plugins.workflow.runtime.attempts import performed
from muniment_plugins.workflow.runtime.paths import GraphPath
from muniment_plugins.workflow.sessions.in_graphs import is_private
from muniment_plugins.workflow.stages.context import selected_for
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment_plugins.workflow.runtime.seams import Conducting

__all__ = ["NodeActivation"]

Perform = Callable[[object], object]


@dataclass(slots=True)
class NodeActivation:
    """A visit of a node, which its kind conducts."""

    conduct: Conducting
    lane: Run
    path: GraphPath
    node: WorkflowNode
    visit: int
    item: JsonValue = None
    """What a map gave it."""
    attempts: int = 1
    _made: int = 0
    _selected: tuple[str, ...] = ()

    def select(self) -> list[Artifact]:
        """Return what the node works on, and state what was in and what was not."""
        chosen = selected_for(self.lane, self.node, self.path.pool)
        self._selected = tuple(one.id for one in chosen)
        return chosen

    async def effect(
        self,
        kind: str,
        request: object,
        perform: Perform,
        *,
        keeps_time: bool = False,
    ) -> object:
        """Perform an effect once, within the node's time.

        What *keeps_time* ends by itself when that is up, and is awaited.

        Raises:
            EffectFailed: *perform* raised, or took too long.

        """
        self.path.stop.check()
        return await performed(
            self.lane,
            kind,
            request,
            perform,
            seconds=None if keeps_time else self.node.timeout_s,
            is_async=self.conduct.lanes.is_async,
        )

    async def attempt(
        self, work: Callable[[], Awaitable[object]], *, anew: bool = False
    ) -> object:
        """Return what *work* gives, tried as often as the node says.

        *anew*, it has attempts of its own; else those of all work of the visit count.

        Raises:
            EffectFailed: the last attempt failed.
            PathStopped: it failed, and is no longer needed.

        """
        retry, before = self.node.retry, self.attempts - 1 if anew else 0
        while True:
            try:
                return await work()
            except EffectFailed as error:
                self.path.stop.check()
                tried = self.attempts - before
                again = tried < retry.max_attempts and not error.halts
                wait = retry.wait_after(tried) if again else None
                self._state_attempt(error, wait)
                if wait is None:
                    raise
            self.attempts += 1
            if wait:
                await self._wait(wait)

    def _state_attempt(self, error: EffectFailed, wait: float | None) -> None:
        if self.node.retry.max_attempts == 1:
            return
        said = EngineFact(
            node=self.node.name,
            attempt=self.attempts,
            status="failed",
            error=error.error_type,
            wait_s=wait,
        )
        self.lane.record("node.attempted", said)

    async def _wait(self, seconds: float) -> None:
        if self.conduct.lanes.is_async:
            await self.lane.asleep(seconds)
        else:
            self.lane.sleep(seconds)

    def artifact(
        self,
        text: str | None = None,
        data: JsonValue = None,
        *,
        kind: str | None = None,
        title: str | None = None,
        lineage: Sequence[Artifact] = (),
        lane: Run | None = None,
    ) -> Artifact:
        """Return a new artifact of this visit; the only one of a *lane* below, if given.

        Raises:
            UsageError: its text or its data have no JSON form.

        """
        number = 0
        if text is not None and not text.isascii():
            plain_json(text, At(self.node.name, "workflow", "text"))
        if data is not None:
            data = plain_json(data, At(self.node.name, "workflow", "data"))
        if (
            lane is None
        ):  # the numbers of what is made at once would change with its order
            number, self._made = self._made, self._made + 1
        made = kind or self.node.output_kind
        return Artifact(
            id=f"{self.conduct.prefix}{(lane or self.lane).scope_path}#{number}",
            kind=made,
            created_at=time_of(self.path.began, self.path.steps, number),
            priority=priority_of(made),
            estimated_tokens=weight_of(text, data),
            title=title or f"{self.node.kind} {self.node.name} output",
            text=text,
            data=data,
            lineage=tuple(one.id for one in lineage),
            stage=self.node.name,
        )

    def record(self, made: Artifact, lane: Run | None = None) -> None:
        """State that *made* was made, here or in a *lane* below."""
        said = EngineFact({"stage": self.node.name, **row_of(made)})
        if is_private(self.node):
            said["visibility"] = "private"
        if made.lineage == self._selected:
            said.pop("lineage", None)  # `context.selected` has it
        (lane or self.lane).record("artifact.recorded", said)

"""What a handler is given: the task, its context, and what its node says.

    def act(stage: StageInput) -> str:
        return f"{stage.task}: {len(stage.artifacts)} artifacts"

    def act(run: Run, stage: StageCall) -> object:      makes effects of its own
        return stage.tool("read", {"path": "src/parser.py"})

Rules:

- A function of one argument is performed: what it returns is recorded as the outcome of an
  effect, and a replay or a resume answers it from there.
- A function of two is a part of the program, and gets the lane of its node: it must come
  to the same effects in a replay.
- A handler gets copies; what it changes in them changes nothing else.
- A request names the context by one digest over ids and digests of its artifacts, in
  order. Each of them is in the record, where it was given or made; so what was asked can be
  told from the record, and a run does not state everything again at each node.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.programs.references import Function, plain
from muniment_plugins.workflow.artifacts.artifact import Artifact, read_artifact

__all__ = ["StageInput", "takes_run"]

Object = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class StageInput:
    """What a handler works on."""

    task: str
    node: str
    artifacts: tuple[Artifact, ...] = ()
    """What its context policy selected, in order."""
    item: JsonValue = None
    """What a map gives it, or None."""
    prompt: str | None = None
    system: str | None = None
    contracts: tuple[Object, ...] = ()
    """What the verifiers of the graph will hold its work against."""
    metadata: Object = field(default_factory=dict[str, JsonValue])
    """That of its node."""

    def request(self, context: str) -> dict[str, JsonValue]:
        """Return the part of a request that says what is given; *context* by its digest."""
        said: dict[str, JsonValue] = {
            "task": self.task,
            "node": self.node,
            "context": context if self.artifacts else None,
            "item": self.item,
            "prompt": self.prompt,
            "system": self.system,
            "contracts": [dict(one) for one in self.contracts],
            "metadata": dict(self.metadata),
        }
        return {
            key: value for key, value in said.items() if value not in (None, [], {})
        }

    def copied(self) -> StageInput:
        """Return a copy that shares nothing that can be changed."""
        return StageInput(
            self.task,
            self.node,
            tuple(map(_apart, self.artifacts)),
            copy.deepcopy(self.item),
            self.prompt,
            self.system,
            copy.deepcopy(self.contracts) if self.contracts else (),
            copy.deepcopy(dict(self.metadata)) if self.metadata else {},
        )

    def to_json(self) -> dict[str, JsonValue]:
        """Return all of it, for a handler in another process."""
        return {
            **self.request(""),
            "artifacts": [one.to_json() for one in self.artifacts],
        }

    @classmethod
    def from_json(cls, said: Object) -> StageInput:
        """Return what `to_json` wrote."""
        given = {key: value for key, value in said.items() if key != "context"}
        artifacts = cast("list[JsonValue]", given.pop("artifacts", []))
        contracts = cast("list[Object]", given.pop("contracts", []))
        return cls(
            artifacts=tuple(map(read_artifact, artifacts)),
            contracts=tuple(contracts),
            **cast("dict[str, str]", given),  # type: ignore[arg-type]  # by `to_json`
        )


def _apart(artifact: Artifact) -> Artifact:
    if not artifact.metadata and artifact.data is None:
        return artifact
    return replace(
        artifact,
        metadata=copy.deepcopy(dict(artifact.metadata)),
        data=copy.deepcopy(artifact.data),
    )


def takes_run(function: Function) -> bool:
    """Tell whether a handler takes the lane of its node, too."""
    try:
        known = inspect.signature(plain(function)).parameters.values()
    except ValueError:  # a builtin without a signature
        return False
    positional = [
        one
        for one in known
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        and one.default is one.empty
    ]
    return len(positional) > 1

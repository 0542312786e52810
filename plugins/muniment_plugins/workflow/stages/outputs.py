"""What a node takes and makes, held against its contracts.

Rules:

- A handler returns a text, an artifact, a list of these, or any other value, which becomes
  the data of an artifact, if JSON has it. None makes nothing.
- Whoever reads a record believes what it says of an artifact: so the run says which node
  made it, it was made from what that node was given or made itself, and what verifiers
  found is made by verifiers.
- A contract is held for every kind of node, before its work and after it: kinds, counts,
  and the schema of the data of each artifact.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact import Artifact, read_artifact
from muniment_plugins.workflow.artifacts.kinds import VERIFICATION_RESULT, kind_named
from muniment_plugins.workflow.documents.node import StageContract, WorkflowNode
from muniment_plugins.workflow.runtime.failures import WorkflowFailed
from muniment_plugins.workflow.tools.schemas import argument_fault

if TYPE_CHECKING:
    from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit

__all__ = [
    "made_of",
    "require_inputs",
    "require_kind",
    "require_outputs",
    "require_own_ids",
    "require_visit",
]

_DRAWN = re.compile("artifact_[0-9a-f]{32}")
"""An id that `artifact` draws."""
_GIVEN = "given_id"
"""The member of the metadata that keeps the id that a handler chose."""
_WORK = ("stage", "reduce", "map", "condition", "escalation")
"""The kinds of nodes that verify nothing. What a subagent made was held to this in its run."""


def made_of(
    here: NodeVisit, value: object, lineage: Sequence[Artifact]
) -> list[Artifact]:
    """Return the artifacts that a handler's *value* stands for.

    Raises:
        UsageError: it has no JSON form, or is no artifact.
        WorkflowFailed: an artifact says that it was made from something else.

    """
    if value is None:
        return []
    several = _listed(value)
    if several is None and not isinstance(value, str) and not _is_artifact(value):
        return [here.artifact(data=cast("JsonValue", value), lineage=lineage)]
    made: list[Artifact] = []
    known = _Known(here, lineage)
    for one in [value] if several is None else several:
        if isinstance(one, str):
            made.append(here.artifact(one, lineage=lineage))
        else:
            made.append(known.taken_over(one))
    return made


class _Known:
    """What artifacts that a handler returns can have been made from."""

    def __init__(self, here: NodeVisit, given: Sequence[Artifact]) -> None:
        self._here, self._given = here, given
        self._names: dict[str, str] = {}
        """The ids of artifacts that the handler returned, old → new."""
        self._ids: set[str] | None = None

    def taken_over(self, value: object) -> Artifact:
        """Return an artifact that a handler made, as the run has it.

        It gets an id of the run: one that was drawn would be another in the next run, and
        one that was chosen would be there twice in a loop. Who made it says the run, too.
        """
        own = self._here.artifact()
        said = value.to_json() if isinstance(value, Artifact) else value
        found = read_artifact(
            {**cast("Mapping[str, JsonValue]", said), "created_at": own.created_at}
        )
        parents = tuple(self._parent(one, found) for one in found.lineage)
        self._names[found.id] = own.id
        chosen = {} if _DRAWN.fullmatch(found.id) else {_GIVEN: found.id}
        return replace(
            found,
            id=own.id,
            lineage=parents or tuple(one.id for one in self._given),
            stage=self._here.node.name,
            metadata={**found.metadata, **chosen},
        )

    def _parent(self, name: str, of: Artifact) -> str:
        if name in self._names:
            return self._names[name]
        if self._ids is None:
            self._ids = {*_ancestors(self._here, self._given)}
        if name not in self._ids:
            raise WorkflowFailed(
                f"{of.name!r:.80} says that it was made from {name!r:.80}, which the node "
                "was not given and did not return before it",
                rule="workflow/lineage",
                place=self._here.node.name,
                remedy="let the lineage name artifacts of stage.artifacts, or return what "
                "it names first",
            )
        return name


def _ancestors(here: NodeVisit, given: Sequence[Artifact]) -> Iterator[str]:
    """Yield the ids of what a node was given, and of what that was made from."""
    for one in given:
        yield one.id
        yield from one.lineage
    item = here.item
    if isinstance(item, Mapping) and item.get("id") in here.path.pool:
        yield str(item["id"])
        yield from map(str, cast("list[JsonValue]", item.get("lineage") or []))


def _listed(value: object) -> list[object] | None:
    """Return the texts and artifacts that *value* lists; None if it is something else."""
    if not isinstance(value, list):
        return None
    found = cast("list[object]", value)
    if found and all(isinstance(one, str) or _is_artifact(one) for one in found):
        return found
    return None


def _is_artifact(value: object) -> bool:
    if isinstance(value, Artifact):
        return True
    return (
        isinstance(value, Mapping)
        and cast("Mapping[str, object]", value).get("_type") == "artifact"
    )


def require_visit(node: WorkflowNode, visit: int) -> None:
    """Refuse a *visit* beyond those that the *node* allows.

    Raises:
        WorkflowFailed: it is one.

    """
    most = node.max_visits
    if most is not None and visit > most:
        raise WorkflowFailed(
            f"it may be visited {most} times",
            rule="workflow/visits",
            place=node.name,
            remedy="find out why it did not get further, or raise max_visits",
        )


def require_inputs(node: WorkflowNode, given: Sequence[Artifact]) -> None:
    """Refuse inputs that are not what the node's contract says.

    Raises:
        WorkflowFailed: they are not.

    """
    contract = node.input_contract
    counted = [
        one
        for one in given
        if not contract.input_kinds or one.kind in contract.input_kinds
    ]
    _require_count(contract, len(counted), node.name)
    _require_schema(contract, counted, node.name, "workflow/input-schema")


def _require_count(contract: StageContract, count: int, place: str) -> None:
    most = contract.max_inputs
    if count < contract.min_inputs or (most is not None and count > most):
        upper = "" if most is None else f" and at most {most}"
        raise WorkflowFailed(
            f"it takes at least {contract.min_inputs}{upper} artifacts, and was given "
            f"{count}",
            rule="workflow/inputs",
            place=place,
            remedy="change the input_contract, or what comes before",
        )


def require_outputs(node: WorkflowNode, outcome: NodeOutcome) -> None:
    """Refuse outputs that are not what the node's contract says.

    Raises:
        WorkflowFailed: they are not.

    """
    contract = node.output_contract
    made = [*outcome.artifacts, *outcome.passed_on]
    for one in outcome.artifacts:
        require_kind(node, one.kind)
    for one in made if contract.output_kinds else ():
        if one.kind not in contract.output_kinds:
            raise WorkflowFailed(
                f"it made a {one.kind}, and may make {', '.join(contract.output_kinds)}",
                rule="workflow/outputs",
                place=node.name,
                remedy="change the output_contract, or the work",
            )
    _require_schema(contract, made, node.name, "workflow/output-schema")


def require_own_ids(
    node: WorkflowNode, made: Iterable[Artifact], known: Container[str]
) -> None:
    """Refuse an artifact with an id that is *known* as that of another one.

    A visit of a node of the box comes to none; a kind of a plugin may.

    Raises:
        WorkflowFailed: there is one.

    """
    for one in made:
        if one.id in known:
            raise WorkflowFailed(
                f"another artifact has the id {one.id}",
                rule="workflow/own-id",
                place=node.name,
                remedy="let the kind make artifacts by NodeVisit.artifact",
            )


def require_kind(node: WorkflowNode, kind: str) -> None:
    """Refuse that work on a *node* makes a *kind* by which verifiers say what they found.

    A later node takes it for that, and a verifier does not look at it.

    Raises:
        WorkflowFailed: it does.

    """
    if kind_named(kind) == VERIFICATION_RESULT and node.kind in _WORK:
        raise WorkflowFailed(
            f"it made a {kind}, which verifiers alone make",
            rule="workflow/own-kind",
            place=node.name,
            remedy="give it another kind, such as test_result or analysis_note",
        )


def _require_schema(
    contract: StageContract, found: Sequence[Artifact], place: str, rule: str
) -> None:
    if contract.schema is None:
        return
    for one in found:
        fault = argument_fault(dict(contract.schema), one.data)
        if fault is not None:
            where = f"{fault.place}: " if fault.place else ""
            raise WorkflowFailed(
                f"the data of {one.id} does not fit the schema: {where}{fault.message}",
                rule=rule,
                place=place,
            )

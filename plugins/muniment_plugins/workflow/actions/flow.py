"""The workflow graph that an action graph becomes.

    flow = action_graph_flow(plan, {
        "research": {"mode": "llm", "model_policy": {…}},
        "execute": {"handler": "stages:work", "tools": tools},
        "verify": {"command": "make test"},
    })

    batch_1 → fork_2 → batch_2, batch_3 → join_2 → batch_4 → final_verify

Rules:

- Each batch is a node, made from the template of its phase, or else from ``stage``. The
  batches of one wave are the branches of a fork, and the next wave begins at their join;
  a batch that fails ends the run.
- A batch that verifies is a node of the kind verify: its template, ``verify_phase`` or else
  ``verify``, says what is checked. Without that the plan is refused: nothing is verified
  without a check.
- Of the tools of a template a batch gets those that its actions name, and may do no more
  than their class says: reading, writing to the workspace, or running processes. A tool
  that the template lacks is refused: `holding`.
- Where each action of a batch names ``target_paths``, tools that write files write nowhere
  else, and the batch is told of no verifier's contract but its own. What a process does
  is held by the ceiling alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import Anything, Entries, ObjectShape, Text
from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError
from muniment.programs.references import Function
from muniment_plugins.workflow.actions.batches import ActionBatch, action_graph_batches
from muniment_plugins.workflow.actions.holding import held
from muniment_plugins.workflow.actions.normalising import (
    ActionGraphLike,
    graph_of_plan,
)
from muniment_plugins.workflow.actions.planned import ActionGraph
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.normal_form import without_functions
from muniment_plugins.workflow.documents.shapes import CONTRACT, LONGEST_PROMPT

__all__ = ["action_graph_flow"]

Node = dict[str, JsonValue]
Edges = list[tuple[str, str]]

_TEMPLATE = Entries(Anything())
_CONFIG = ObjectShape(
    optional={
        "name": Text(),
        "stage": _TEMPLATE,
        "research": _TEMPLATE,
        "execute": _TEMPLATE,
        "verify_phase": _TEMPLATE,
        "verify": _TEMPLATE,
        "evaluate": _TEMPLATE,
        "capability_policy": _TEMPLATE,
        "approval_policy": _TEMPLATE,
    }
)
_CHECKS = frozenset({*CONTRACT.optional, "contract_path", "rubric"})
"""What a template may say of its checks without a ``verify`` around it."""
_SCOPE = "workflow_verification_scope"


def action_graph_flow(
    plan: ActionGraphLike,
    config: Mapping[str, object] | None = None,
    completed: Iterable[str] = (),
) -> WorkflowGraph:
    """Return the workflow graph that does what *plan* says.

    Args:
        plan: an action graph, or what a planner wrote.
        config: templates of nodes: ``research``, ``execute``, ``verify_phase``, and
            ``stage`` for what has none; ``verify`` and ``evaluate``, which come at the
            end if they are there; ``name``, ``capability_policy`` and
            ``approval_policy`` of the graph.
        completed: ids of actions that are done.

    Raises:
        UsageError: the configuration has a mistake, or the plan is none.
        RefusedError: the plan has a cycle, names a tool that is not there, or verifies
            without a check.

    """
    graph = graph_of_plan(plan)
    at = At("config", "workflow")
    said, functions = without_functions(dict(config or {}))
    _CONFIG.check(said, at)
    batches = action_graph_batches(graph, completed)
    return _Flow(graph, cast("Node", said), at, functions).of(batches)


class _Flow:
    """A graph in the making."""

    def __init__(
        self, plan: ActionGraph, config: Node, at: At, functions: Mapping[str, Function]
    ) -> None:
        self._plan, self._config, self._at = plan, config, at
        self._functions = functions
        self._nodes: dict[str, JsonValue] = {}
        self._edges: Edges = []
        self._last: str | None = None

    def of(self, batches: Sequence[ActionBatch]) -> WorkflowGraph:
        """Return the graph of *batches*."""
        for wave, inside in _by_wave(batches):
            self._wave(wave, inside)
        for name in ("verify", "evaluate"):
            if self._config.get(name):
                self._then(f"final_{name}", self._final(name))
        if not self._nodes:
            raise RefusedError(
                "nothing of the plan is left to do",
                rule="workflow/plan-done",
                place="the plan",
                remedy="name fewer actions as completed, or give it a final verify",
            )
        document: Node = {
            "name": self._config.get("name", "plan"),
            "entry": next(iter(self._nodes)),
            "nodes": self._nodes,
            "edges": [{"from": a, "to": b} for a, b in self._edges],
            "metadata": {"plan": self._plan.digest},
        }
        for key in ("capability_policy", "approval_policy"):
            if key in self._config:
                document[key] = self._config[key]
        return WorkflowGraph.from_document(
            document, "the flow of the plan", self._functions
        )

    def _then(self, name: str, node: Node) -> None:
        """Let *node* come next."""
        self._nodes[name] = node
        if self._last is not None:
            self._edges.append((self._last, name))
        self._last = name

    def _wave(self, wave: int, batches: Sequence[ActionBatch]) -> None:
        if len(batches) == 1:
            self._then(_name(batches[0]), self._node(batches[0]))
            return
        fork, join = f"fork_{wave}", f"join_{wave}"
        self._then(fork, {"kind": "fork"})
        for one in batches:
            self._nodes[_name(one)] = self._node(one)
            self._edges += [(fork, _name(one)), (_name(one), join)]
        self._nodes[join] = {"kind": "join"}
        self._last = join

    def _node(self, batch: ActionBatch) -> Node:
        metadata: Node = {
            "batch": batch.id,
            "actions": [*batch.action_ids],
            "phase": batch.phase,
            "tool_class": batch.tool_class,
        }
        makes = self._verifier if batch.phase == "verify" else self._stage
        made = makes(batch)
        if batch.target_paths:
            metadata[_SCOPE] = "local_only"
        own = cast("Node", made.get("metadata") or {})
        return {**made, "metadata": {**own, **metadata}}

    def _stage(self, batch: ActionBatch) -> Node:
        key = batch.phase if batch.phase in self._config else "stage"
        template = cast("Node | None", self._config.get(key))
        if template is None:
            raise RefusedError(
                f"nobody does {batch.id}: there is no template for {batch.phase}",
                rule="workflow/plan-template",
                place=f"config: {batch.phase}",
                remedy='write one, such as {"handler": "stages:work"}, or a `stage`',
            )
        prompt = template.get("prompt")
        told = batch.prompt if prompt is None else f"{prompt}\n\n{batch.prompt}"
        if len(told) > LONGEST_PROMPT:
            raise RefusedError(
                f"what {batch.id} is told has {len(told)} characters, and at most "
                f"{LONGEST_PROMPT} fit",
                rule="workflow/plan-size",
                place=f"the plan: {batch.action_ids[0]}",
                remedy="let some of its actions depend on others, or plan in parts",
            )
        made: Node = {"kind": "stage", **template, "prompt": told}
        return made | held(batch, template, self._at.key(key))

    def _verifier(self, batch: ActionBatch) -> Node:
        for key in ("verify_phase", "verify"):
            if self._config.get(key):
                made = _checking(cast("Node", self._config[key]))
                return made | held(batch, made, self._at.key(key))
        raise RefusedError(
            f"{batch.id} verifies, and nothing says what is checked",
            rule="workflow/plan-check",
            place=f"the plan: {batch.action_ids[0]}",
            remedy='give the configuration a verify, such as {"command": "make test"}',
        )

    def _final(self, name: str) -> Node:
        template = cast("Node", self._config[name])
        checks = _CHECKS & template.keys() or "verify" in template or name == "verify"
        return _checking(template) if checks else {"kind": "stage", **template}


def _by_wave(
    batches: Sequence[ActionBatch],
) -> Iterator[tuple[int, list[ActionBatch]]]:
    waves: dict[int, list[ActionBatch]] = {}
    for one in batches:
        waves.setdefault(one.wave, []).append(one)
    yield from waves.items()


def _name(batch: ActionBatch) -> str:
    return batch.id.replace("-", "_")


def _checking(template: Node) -> Node:
    """Return the verifier that *template* describes, with its checks where they belong."""
    checks = {key: one for key, one in template.items() if key in _CHECKS}
    others = {key: one for key, one in template.items() if key not in _CHECKS}
    inside = cast("Node", others.pop("verify", {}))
    if "handler" in others:
        checks["handler"] = others.pop("handler")
    return {**others, "kind": "verify", "verify": {**inside, **checks}}

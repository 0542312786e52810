"""What can be wrong with the functions that a graph names, once they are known.

Rules:

- A handler is called with its `StageInput`, or with the lane of its node and that; one that
  takes nothing, or more, could not be called at all.
- A condition computes from what it is given: its handler has one argument. So has a
  tool-less stage: tools are called by a handler of two arguments, which has the lane.
- A function without a signature, as some builtins have none, is taken as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self, cast

from muniment.documents.places import At
from muniment.programs.references import Function, plain
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.subgraphs import child_graph, with_bodies
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.runtime.stage_input import takes_run
from muniment_plugins.workflow.tools.registry import RegistryLike, registry_of

__all__ = ["call_findings"]

Functions = Mapping[str, Function]


def call_findings(
    graph: WorkflowGraph, functions: Functions, before: str = ""
) -> Iterator[WorkflowFinding]:
    """Yield what is wrong with the handlers of *graph* that are among *functions*.

    Args:
        graph: the graph.
        functions: import path → function, as far as they are known.
        before: where the graph stands in another one, with a dot at its end.

    """
    arguments = {path: _Arguments.of(one) for path, one in functions.items()}
    for node in graph.nodes.values():
        for one in with_bodies(node):
            for found in _of_node(one, arguments):
                place = f"{before}{found.place}"
                yield WorkflowFinding(
                    found.code, found.severity, place, found.message, found.remedy
                )
            if one.kind == "subagent" and "graph" in one.document:
                child = cast("WorkflowGraph", child_graph(graph, one))
                place = f"{before}{one.at.key('graph').path}."
                yield from call_findings(child, functions, place)


@dataclass(frozen=True, slots=True)
class _Arguments:
    """What a function takes, whichever and however many nodes name it."""

    can_be_called: bool
    takes_run: bool

    @classmethod
    def of(cls, function: Function) -> Self:
        return cls(_takes(function, 1) or _takes(function, 2), takes_run(function))


def _of_node(
    node: WorkflowNode, arguments: Mapping[str, _Arguments]
) -> Iterator[WorkflowFinding]:
    takes = None if node.handler is None else arguments.get(node.handler)
    if takes is not None:
        yield from _of_handler(node, takes, node.at.key("handler"))
    verify = node.part("verify").get("handler")
    takes = None if verify is None else arguments.get(str(verify))
    if takes is not None:
        yield from _of_handler(node, takes, node.at.key("verify").key("handler"))


def _of_handler(
    node: WorkflowNode, takes: _Arguments, at: At
) -> Iterator[WorkflowFinding]:
    if not takes.can_be_called:
        yield WorkflowFinding(
            "HANDLER_ARGUMENTS",
            "error",
            at.path,
            "it cannot be called with what a handler is given",
            "let it take stage, or run and stage",
        )
    elif node.kind == "condition" and takes.takes_run:
        yield WorkflowFinding(
            "HANDLER_ARGUMENTS",
            "error",
            at.path,
            "the handler of a condition takes one argument, and this one takes two",
            "let it take stage alone; write a stage before it that does the work",
        )
    tools = registry_of(cast("RegistryLike", node.document.get("tools"))).tools
    if tools and not takes.takes_run:
        yield WorkflowFinding(
            "TOOLS_UNCALLED",
            "error",
            node.at.key("tools").path,
            "a handler of one argument calls no tools",
            "let it take run and stage, and call stage.tool, or leave the tools out",
        )


def _takes(function: Function, count: int) -> bool:
    try:
        inspect.signature(plain(function)).bind(*[None] * count)
    except ValueError:  # without a signature
        return True
    except TypeError:
        return False
    return True

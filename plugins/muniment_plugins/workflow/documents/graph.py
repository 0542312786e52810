"""Graphs in memory: frozen, typed, with the digest of their normal form.

    graph = workflow_graph({"nodes": {"act": {"handler": "stages:act"}}})
    graph.digest                       'sha256:…'
    graph.out("act")                   (WorkflowEdge(source='act', target='verify', …),)

Rules:

- A graph is its document; two graphs with equal documents are the same graph.
- A graph that was made of another by editing it carries its `edits`, until it is committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, cast

from muniment.documents.places import At
from muniment.documents.reading import plain_document, read_document
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.programs.references import Function
from muniment_plugins.workflow.documents.edit import WorkflowEdit
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.normal_form import (
    normal_form,
    without_functions,
)
from muniment_plugins.workflow.documents.words import ANY

__all__ = ["GraphLike", "WorkflowEdge", "WorkflowGraph", "load_graph", "workflow_graph"]

Object = Mapping[str, JsonValue]
FAMILY = "workflow"


@dataclass(frozen=True, slots=True)
class WorkflowEdge:
    """An edge: from a node that ended in a branch, to the next one."""

    source: str
    target: str
    branch: str | None = None
    """The branch that takes it; None for those that mean success, ``*`` for any."""
    label: str | None = None
    """What pictures write on it."""

    @property
    def words(self) -> str:
        """What a picture says of it: its label, and its branch if that is another word."""
        said = (self.label, self.branch)
        return ": ".join(dict.fromkeys(one for one in said if one))

    @property
    def takes_any(self) -> bool:
        """Whether every branch takes it."""
        return self.branch == ANY


@dataclass(frozen=True)
class WorkflowGraph:
    """A graph without mistakes of form; `workflow_validate` tells whether it can run."""

    document: Object = field(repr=False)
    """The normal form."""
    nodes: Mapping[str, WorkflowNode] = field(repr=False, compare=False)
    edges: tuple[WorkflowEdge, ...] = field(repr=False, compare=False)
    functions: Mapping[str, Function] = field(
        repr=False, compare=False, default_factory=dict[str, Function]
    )
    """Import path → the function that was given as such."""
    place: str = field(default="the graph", compare=False)
    """What messages call the document: the path that users gave."""
    edits: tuple[WorkflowEdit, ...] = field(default=(), repr=False, compare=False)
    """What it was made by of the graph that was committed last, the oldest first."""
    base: Object | None = field(default=None, repr=False, compare=False)
    """The document before the first of its edits; None without any."""
    made_of: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Digests, without their versions, of what a file says that it was made of."""

    @property
    def name(self) -> str:
        """The name, which runs of the graph have."""
        return cast("str", self.document["name"])

    @property
    def version(self) -> int:
        """The version, which clones raise."""
        return cast("int", self.document["version"])

    @property
    def entry(self) -> str:
        """The node that is first."""
        return cast("str", self.document["entry"])

    @property
    def folder(self) -> Path:
        """Where functions and files are looked for first: the folder of the document."""
        return Path(self.place).parent

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical normal form."""
        return sha256_tag(canonical(dict(self.document)))

    @cached_property
    def _out(self) -> Mapping[str, tuple[WorkflowEdge, ...]]:
        found: dict[str, list[WorkflowEdge]] = {}
        for one in self.edges:
            found.setdefault(one.source, []).append(one)
        return {name: tuple(edges) for name, edges in found.items()}

    def out(self, node: str) -> tuple[WorkflowEdge, ...]:
        """Return the edges that leave *node*, in their order."""
        return self._out.get(node, ())

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes as paths come to them, near ones first; the unreachable ones last."""
        found = dict.fromkeys([self.entry] if self.entry in self.nodes else [])
        left = deque(found)
        while left:
            for edge in self.out(left.popleft()):
                if edge.target in self.nodes and edge.target not in found:
                    found[edge.target] = None
                    left.append(edge.target)
        return (*found, *(name for name in self.nodes if name not in found))

    @classmethod
    def from_document(
        cls,
        value: object,
        place: str = "the graph",
        functions: Mapping[str, Function] | None = None,
    ) -> WorkflowGraph:
        """Return the graph in *value*, which messages call *place*.

        Raises:
            UsageError: it has a mistake of form; one line, with the key path.

        """
        at = At(place, FAMILY)
        named, found = without_functions(value, dict(functions or {}), at)
        document = normal_form(plain_document(named, FAMILY, place), at)
        marks = cast("list[str]", document.pop("made_of", []))
        nodes = cast("Mapping[str, Object]", document["nodes"])
        edges = cast("list[Mapping[str, str]]", document["edges"])
        return cls(
            document,
            {
                name: WorkflowNode(name, one, at.key("nodes").key(name))
                for name, one in nodes.items()
            },
            tuple(
                WorkflowEdge(
                    one["from"], one["to"], one.get("branch"), one.get("label")
                )
                for one in edges
            ),
            found,
            place,
            made_of=tuple(marks),
        )


GraphLike: TypeAlias = "WorkflowGraph | Mapping[str, object]"


def workflow_graph(config: GraphLike) -> WorkflowGraph:
    """Return the typed graph of *config*, in its normal form.

    Raises:
        UsageError: it has a mistake of form; one line, with the key path.

    """
    if isinstance(config, WorkflowGraph):
        return config
    return WorkflowGraph.from_document(config)


def load_graph(path: Path | str) -> WorkflowGraph:
    """Return the graph in the file *path*: JSON, YAML or TOML.

    Raises:
        UsageError: it cannot be read, or has a mistake; one line, with the key path.

    """
    return WorkflowGraph.from_document(read_document(Path(path), FAMILY), str(path))

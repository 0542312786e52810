"""Refusals of graphs, as facts: each graph that a ledger was to run, and did not.

    workflow.refused {"workflow": "repair_loop", "graph": "sha256:…", "findings": [{…}]}

Rules:

- Whatever is wrong with the graph is recorded: its form, its findings, its modes, its
  contracts, its functions. A mistake of form has the code of validation, ``FORM_…``; what
  is found later has the last part of its rule, such as ``HANDLER``.
- What is wrong with options, task and artifacts is whoever called's own mistake, and leaves
  nothing; nor does a file that cannot be read as a graph.
- A graph that has no digest, since it is no JSON value, is recorded without one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import MunimentError
from muniment_plugins.workflow.documents.graph import GraphLike, WorkflowGraph
from muniment_plugins.workflow.documents.normal_form import without_functions
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["GraphRefusal"]

_LONGEST = 200


@dataclass(slots=True)
class GraphRefusal:
    """What is wrong with one graph, for its record."""

    graph: GraphLike
    findings: list[dict[str, JsonValue]]
    """Those of the validation, where it found something."""
    error: MunimentError | None = None
    """What was raised about the graph."""
    form: str = ""
    """What the code of that begins with."""

    @contextmanager
    def about_the_graph(self, form: str = "") -> Generator[None]:
        """Keep what is raised here as a mistake of the graph, or of its *form*."""
        try:
            yield
        except MunimentError as error:
            self.error, self.form = error, form
            raise

    @contextmanager
    def recorded(self, ledger: Ledger) -> Generator[None]:
        """Record a mistake of the graph that is raised here, and raise it."""
        try:
            yield
        except MunimentError as error:
            if error is self.error:
                ledger.append("workflow.refused", EngineFact(self._fact(error)))
            raise

    def _fact(self, error: MunimentError) -> dict[str, object]:
        name, digest = self._named()
        found = self.findings or [self._finding(error)]
        said: dict[str, object] = {"workflow": name, "findings": found}
        return said if digest is None else {**said, "graph": digest}

    def _named(self) -> tuple[str, str | None]:
        """Return the name and the digest of the graph, as far as it has any."""
        if isinstance(self.graph, WorkflowGraph):
            return self.graph.name, self.graph.digest
        name, graph = "workflow", cast("object", self.graph)  # callers give anything
        if isinstance(graph, Mapping):
            given = cast("Mapping[str, object]", graph).get("name")
            name = given[:_LONGEST] if isinstance(given, str) and given else name
        try:
            return name, sha256_tag(canonical(without_functions(self.graph)[0]))
        except (MunimentError, RecursionError):
            return name, None

    def _finding(self, error: MunimentError) -> dict[str, JsonValue]:
        code = error.rule.rpartition("/")[2].replace("-", "_").upper()
        is_typed = isinstance(self.graph, WorkflowGraph)
        document = cast("WorkflowGraph", self.graph).place if is_typed else "the graph"
        place = error.place.removeprefix(f"{document}: ")
        made: dict[str, JsonValue] = {
            "code": f"{self.form}{code}",
            "severity": "error",
            "place": "" if error.place == document else place,
            "message": error.message,
        }
        return {**made, "remedy": error.remedy} if error.remedy else made

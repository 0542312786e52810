"""Putting a graph together with all that it needs, or from the run that recorded it.

Rules:

- Every function and every contract file is found before anything is run, written or paid
  for. Given artifacts have ids that the run itself comes to never.
- From a record, functions are remembered, and looked up when they are called: a replay
  that needs none of them runs where none of them is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, UsageError
from muniment.formats.statement import BlobRef
from muniment.programs.finder import FunctionFinder, RecordedFunctions
from muniment.programs.functions import given_in
from muniment.programs.references import Function, named
from muniment.programs.stable_names import name_of
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.subgraphs import (
    answering,
    graphs_in,
    handlers_of,
    with_bodies,
)
from muniment_plugins.workflow.engine.options import WorkflowOptions, options_of
from muniment_plugins.workflow.engine.program import (
    AsyncWorkflowProgram,
    WorkflowProgram,
)
from muniment_plugins.workflow.nodes.box import kinds_of
from muniment_plugins.workflow.runtime.artifact_rows import read_rows
from muniment_plugins.workflow.runtime.stage_input import takes_run
from muniment_plugins.workflow.stages.handlers import is_coroutine_function

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment.plugins import Plugins
    from muniment.runs.executors import Executor
    from muniment_plugins.workflow.nodes.kind import NodeKind

__all__ = ["assembled", "rebuild", "require_each_once"]

Object = Mapping[str, JsonValue]
_FAMILY = "workflow"


def assembled(  # noqa: PLR0913 - a program has these parts
    graph: WorkflowGraph,
    task: str,
    artifacts: Sequence[Artifact],
    options: WorkflowOptions,
    plugins: Plugins,
    *,
    files: Mapping[str, Object],
    executor: Executor | None = None,
) -> WorkflowProgram:
    """Return *graph* as a program, whose *files* of contracts are read.

    Raises:
        UsageError: a function is not there.
        CannotTellError: importing a function fails.

    """
    finder = FunctionFinder(graph.folder)
    functions: dict[str, Function] = {}
    for one in graphs_in(graph):
        for path, at in _named_in(one):
            given = one.functions.get(path)
            functions[path] = (
                finder.imported(path, at) if given is None else named(given)
            )
        for path, at in answering(one):
            _require_plain(functions[path], at)
    made = (
        AsyncWorkflowProgram
        if any(map(is_coroutine_function, functions.values())) or _asks_servers(graph)
        else WorkflowProgram
    )
    return made(
        graph,
        task,
        artifacts,
        options,
        kinds_of(plugins),
        functions,
        frozenset(path for path, one in functions.items() if takes_run(one)),
        files,
        executor=executor,
        prefix=_prefix(artifacts, graph.nodes),
    )


def _prefix(given: Sequence[Artifact], nodes: Iterable[str]) -> str:
    """Return what the ids of artifacts that *nodes* make begin with, so that none is *given*.

    Where a run is given what another run of these nodes made, such as ``act.1#0``, its own
    are ``2/act.1#0``, or have the first such number that is free.
    """
    visits = tuple(f"{name}." for name in nodes)

    def is_free(prefix: str) -> bool:
        rests = (one.id[len(prefix) :] for one in given if one.id.startswith(prefix))
        return not any("#" in rest and rest.startswith(visits) for rest in rests)

    prefixes = chain([""], (f"{number}/" for number in count(2)))
    return next(filter(is_free, prefixes))


def _named_in(graph: WorkflowGraph) -> Iterator[tuple[str, At]]:
    """Yield the import path of each function that *graph* names, and its place."""
    for node in graph.nodes.values():
        yield from handlers_of(node)
    yield from answering(graph)


def _require_plain(function: Function, at: At) -> None:
    """Refuse a function that answers updates, and wants the lane of a node."""
    if takes_run(function):
        raise at.wrong(
            "it takes two arguments, and gets the update alone",
            "handler",
            "let it take a StageInput, whose item is what the update says",
        )


def require_each_once(given: Sequence[Artifact]) -> None:
    """Refuse two artifacts of one id: nobody could tell which of them a record means.

    Raises:
        UsageError: there are two.

    """
    known: dict[str, Artifact] = {}
    for number, one in enumerate(given):
        if known.setdefault(one.id, one) != one:
            raise (
                At("artifacts", "workflow")
                .item(number)
                .wrong(
                    f"another artifact has the id {one.id}",
                    "duplicate",
                    "give each artifact an id of its own; artifact_derive does",
                )
            )


def _asks_servers(graph: WorkflowGraph) -> bool:
    """Tell whether a loop somewhere in *graph* has servers of tools, which are awaited."""
    return any(
        inner.tool_servers
        for one in graphs_in(graph)
        for node in one.nodes.values()
        for inner in with_bodies(node)
    )


def rebuild(
    ledger: Ledger, run: str, trust_source: bool = False
) -> WorkflowProgram | None:
    """Return the program of *run* from its start, or None if it is no workflow.

    Raises:
        CannotTellError: a node is of a kind that no plugin adds here.

    """
    del trust_source  # handlers are never made from recorded source
    started = next(ledger.events(run=run, limit=1))
    program = cast("Mapping[str, object]", started.data.get("program") or {})
    params = started.data.get("params")
    known = ledger.plugins.names.of(program)
    ours = (name_of(WorkflowProgram), name_of(AsyncWorkflowProgram))
    if known is None or known.name not in ours or not isinstance(params, BlobRef):
        return None
    said = cast("Mapping[str, JsonValue]", ledger.value(params))
    found = RecordedFunctions(
        tuple(given_in(program)), ledger.plugins.names, run, _FAMILY
    )
    pins = cast("Mapping[str, Mapping[str, Object]]", said["pins"])
    graph = WorkflowGraph.from_document(said["graph"], f"the graph of run {run}")
    kinds = kinds_of(ledger.plugins)
    _require_kinds(graph, kinds, run)
    options = options_of(cast("Object", said["options"]), len(graph.nodes))
    made = AsyncWorkflowProgram if known.name == ours[1] else WorkflowProgram
    return made(
        graph,
        str(said["task"]),
        read_rows(said["artifacts"], started.time),
        options,
        kinds,
        {path: found.remembered(row) for path, row in pins["functions"].items()},
        frozenset(cast("list[str]", pins["in_lane"])),
        pins["contracts"],
        started.data.get("parent") is not None,
        executor=_executor(ledger, started, options.executor),
        host=cast("Object", pins.get("host", {})),
        prefix=cast("str", pins.get("prefix", "")),
        generation=cast("int", pins.get("generation", 1)),
    )


def _executor(ledger: Ledger, started: Event, name: str | None) -> Executor | None:
    """Return the executor of a run: the one that it names, or a run above it.

    None where the runs above are not at hand, as in the process of a replay, which has the
    record of one run and carries nothing anywhere.
    """
    while name is None and started.data.get("parent") is not None:
        above = cast("Mapping[str, str]", started.data["parent"])["run"]
        try:
            started = next(ledger.events(run=above, limit=1))
        except UsageError:
            return None
        params = started.data.get("params")
        if not isinstance(params, BlobRef) or not ledger.holds(params.digest):
            return None
        said = cast("Mapping[str, JsonValue]", ledger.value(params))
        options = cast("Object", said.get("options") or {})
        name = cast("str | None", options.get("executor"))
    return None if name is None else ledger.plugins.executor(name)


def _require_kinds(
    graph: WorkflowGraph, kinds: Mapping[str, NodeKind], run: str
) -> None:
    """Refuse to judge a graph some of whose nodes are unknown here."""
    for one in graphs_in(graph):
        for node in one.nodes.values():
            for inner in with_bodies(node):
                if inner.kind not in kinds:
                    raise CannotTellError(
                        f"the kind {inner.kind} is not known here",
                        rule="workflow/kind-missing",
                        place=f"run {run}: {inner.at.path}",
                        remedy="install the plugin that adds it, and see "
                        "`muniment plugins`",
                    )

"""Committing graphs: the edits and what they led to, in the ledger, all or nothing.

    graph = workflow_commit(ledger, graph, "issue 7")       event by event:
    workflow.edited      insert_node, rewire, …             what was done since
    workflow.edited      commit                             version 2 becomes version 3
    workflow.committed   the whole document

Rules:

- Only a graph that can run is committed, and only one that was made of the newest graph of
  its name by edits that lead to it: they are performed again before anything is written.
- A graph of a new name begins with an edit ``create``, so that its history is complete.
- The version of a name rises with each commit; the graph that comes back has it.
- Of two writers who commit at once, the second is refused: each commit counts the events of
  its name that there were (see "Series" in docs/spec/event.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import AppendRefused, RefusedError
from muniment.formats.series import series_key
from muniment_plugins.workflow.documents.edit import WorkflowEdit
from muniment_plugins.workflow.documents.graph import (
    GraphLike,
    WorkflowGraph,
    workflow_graph,
)
from muniment_plugins.workflow.edits.edited import EditNote, edit_between
from muniment_plugins.workflow.edits.history import (
    COMMITTED,
    EDITED,
    committed_events,
    performed,
)
from muniment_plugins.workflow.edits.lineage import but_version
from muniment_plugins.workflow.nodes.box import kinds_of
from muniment_plugins.workflow.validation.checks import workflow_validate
from muniment_plugins.workflow.vocabulary import HISTORY, EngineFact

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["workflow_commit"]

Object = Mapping[str, JsonValue]
_SERIES = 3
"""The version of events from which on they can be counted in series."""


def workflow_commit(
    ledger: Ledger,
    graph: GraphLike,
    reason: str = "",
    *,
    ceiling: Object | None = None,
) -> WorkflowGraph:
    """Commit *graph* under its name, and return it with its version and without edits.

    Args:
        ledger: an open ledger.
        graph: a graph, or its document; what `workflow_committed` returned, edited.
        reason: why.
        ceiling: the capability policy that it is held to.

    Raises:
        UsageError: it has a mistake of form.
        RefusedError: it cannot run, does not follow from what was committed last, or
            changes nothing; or somebody else committed in between.

    """
    typed = _as_it_is(workflow_graph(graph))
    _require_valid(ledger, typed, ceiling)
    if ledger.keys.event_format < _SERIES:
        raise _refused(
            typed,
            "the events of this ledger cannot be counted, so two commits could fork",
            "no-series",
            "go on in a successor: `muniment init DIR --continues LEDGER --reason R`",
        )
    counted = _count(
        ledger, typed.name
    )  # first, so that what is read next is not newer
    last = _newest(ledger, typed.name)
    edits = _following(typed, last)
    made, edits = _with_version(typed, edits, last)
    rows = [(EDITED, _row(typed.name, one)) for one in edits]
    end = EngineFact(
        workflow=made.name,
        graph=made.digest,
        version=made.version,
        counted=counted + len(rows),
        reason=reason,
        document=dict(made.document),
    )
    _write(ledger, typed, [*rows, (COMMITTED, end)])
    return made


def _as_it_is(graph: WorkflowGraph) -> WorkflowGraph:
    """Return *graph* as its document is now: somebody may have changed that in place."""
    made = WorkflowGraph.from_document(graph.document, graph.place, graph.functions)
    return replace(made, edits=graph.edits, base=graph.base)


def _require_valid(
    ledger: Ledger, graph: WorkflowGraph, ceiling: Object | None
) -> None:
    report = workflow_validate(graph, ceiling, kinds=kinds_of(ledger.plugins))
    if report.valid:
        return
    first, more = report.errors[0], len(report.errors) - 1
    others = f", and {more} more" if more else ""
    raise RefusedError(
        f"{first.code}: {first.message}{others}",
        rule="workflow/invalid",
        place=f"{graph.place}: {first.place}",
        remedy=first.remedy,
    )


def _count(ledger: Ledger, name: str) -> int:
    """Return how many events the series of *name* has."""
    key = series_key(HISTORY, name)
    for event in ledger.events(series=key, order="desc", limit=1):
        return next(one.count for one in event.series if one.key == key)
    return 0


def _newest(ledger: Ledger, name: str) -> Event | None:
    return next(committed_events(ledger, name), None)


def _following(graph: WorkflowGraph, last: Event | None) -> list[WorkflowEdit]:
    """Return the edits that lead from *last* to *graph*, each performed again.

    Raises:
        RefusedError: they do not, or nothing changed.

    """
    base = graph.document if graph.base is None else graph.base
    edits = [*graph.edits]
    document: JsonValue = dict(base)
    if last is None:
        document = None
        edits.insert(0, edit_between(None, base, EditNote("create")))
    else:
        _require_newest(graph, base, last)
    for one in edits:
        document = performed(document, one)
    if canonical(document) != canonical(dict(graph.document)):
        raise _refused(
            graph,
            "its edits do not lead to it",
            "edits",
            "edit it by the workflow_* functions only",
        )
    return edits


def _require_newest(graph: WorkflowGraph, base: Object, last: Event) -> None:
    """Refuse a graph that is no change of the one that *last* committed."""
    version, digest = cast("int", last.raw["version"]), last.raw["graph"]
    follows = sha256_tag(canonical(dict(base))) == digest
    same = but_version(graph.document) == but_version(base) and follows
    if graph.digest == digest or (same and graph.version <= version):
        message = f"nothing changed since version {version}"
        raise _refused(graph, message, "unchanged", "edit it first")
    if not follows:
        raise _refused(
            graph,
            f"it was not made of version {version}, which was committed last",
            "not-following",
            "edit workflow_committed(ledger, name), for example by "
            "workflow_rewrite(committed, graph)",
        )


def _with_version(
    graph: WorkflowGraph, edits: list[WorkflowEdit], last: Event | None
) -> tuple[WorkflowGraph, list[WorkflowEdit]]:
    """Return *graph* with the version that its commit gives it, and the edits to it."""
    before = 0 if last is None else cast("int", last.raw["version"])
    version = max(graph.version, before + 1)
    document = {**graph.document, "version": version}
    made = WorkflowGraph.from_document(document, graph.place, graph.functions)
    if version == graph.version:
        return made, edits
    note = EditNote("commit", None, "version")
    return made, [*edits, edit_between(graph.document, document, note)]


def _row(name: str, edit: WorkflowEdit) -> EngineFact:
    return EngineFact(workflow=name, **edit.document())


def _write(
    ledger: Ledger, graph: WorkflowGraph, rows: list[tuple[str, EngineFact]]
) -> None:
    try:
        ledger.append_many(rows)
    except AppendRefused as error:
        if error.rule != "event/counts":
            raise
        raise _refused(
            graph,
            f"somebody else committed {graph.name!r:.80} in between",
            "committed-meanwhile",
            "make the edits again, of workflow_committed(ledger, name)",
        ) from error


def _refused(
    graph: WorkflowGraph, message: str, mistake: str, remedy: str
) -> RefusedError:
    rule = f"workflow/{mistake}"
    return RefusedError(message, rule=rule, place=graph.place, remedy=remedy)

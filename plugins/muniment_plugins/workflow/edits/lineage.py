"""What a graph in a file was made of: so that its commit undoes nothing of somebody else.

    marked(graph, of)          {…, "made_of": ["sha256:…"]}          what `edit` writes
    onto_newest(ledger, graph, "2", reason)                          what `commit` commits

Rules:

- A file says by digests what it was made of, the newest first. They leave the version out,
  which a commit sets: so a file that was committed is what the next one was made of.
- It follows from the version that was committed last if it says the same, or if that is the
  one that it was made of: the first of these digests under which anything was committed.
  Where that is an older one, or nothing tells, it is refused, unless somebody who looked
  says which version it is to follow.
- The digests are no part of the graph: its own digest is without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import CannotTellError, ErasedError, RefusedError, UsageError
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.shapes import MOST_MARKS
from muniment_plugins.workflow.edits.editing import workflow_rewrite
from muniment_plugins.workflow.edits.history import committed_events, document_of

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["but_version", "marked", "onto_newest"]

Object = Mapping[str, JsonValue]
_VERSION = re.compile(r"[1-9][0-9]{0,15}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{8,64}", re.ASCII)


def but_version(document: Object) -> bytes:
    """Return what *document* says, but for its version."""
    return canonical({key: one for key, one in document.items() if key != "version"})


def marked(graph: WorkflowGraph, of: WorkflowGraph) -> dict[str, JsonValue]:
    """Return the document of *graph*, which was made *of* another, with what says so."""
    marks = dict.fromkeys((*graph.made_of, _mark(of.document), *_origins(of)))
    return {**graph.document, "made_of": list[JsonValue](marks)[:MOST_MARKS]}


def onto_newest(
    ledger: Ledger, graph: WorkflowGraph, onto: str | None = None, reason: str = ""
) -> WorkflowGraph:
    """Return *graph* as an edit of the one of its name that was committed last, if one was.

    Args:
        ledger: where.
        graph: what was edited as a file.
        onto: the version, or the digest, of the one that it follows, as somebody says who
            looked; None for what the file says itself.
        reason: why it was edited.

    Raises:
        RefusedError: it follows from another one, or nothing tells from which.
        CannotTellError: it is to follow one, and none was committed.
        UsageError: *onto* is neither a version nor a digest.

    """
    last = next(committed_events(ledger, graph.name), None)
    if last is None:
        if onto is not None:
            raise _not_committed(graph, onto)
        return graph
    newest = WorkflowGraph.from_document(document_of(ledger, last, graph.name))
    if onto is not None:
        _require_named(graph, last, onto)
    else:
        _require_made_of(ledger, graph, newest.document, last)
    return workflow_rewrite(newest, graph, reason=reason)


def _mark(document: Object) -> str:
    return sha256_tag(but_version(document))


def _origins(graph: WorkflowGraph) -> Iterator[str]:
    """Yield the digests of what *graph* was made of, the newest first."""
    if graph.base is not None:
        yield _mark(graph.base)
    yield from graph.made_of


def _version(event: Event) -> int:
    return cast("int", event.raw["version"])


def _require_named(graph: WorkflowGraph, last: Event, onto: str) -> None:
    """Refuse what is to follow *onto*, if that is not what *last* committed."""
    digest = str(last.raw["graph"])
    if not (_VERSION.fullmatch(onto) or _DIGEST.fullmatch(onto)):
        raise UsageError(
            f"{onto!r:.80} is neither a version nor a digest",
            rule="workflow/onto",
            place=graph.place,
            remedy=f"write --onto {_version(last)}, or --onto {digest}",
        )
    if onto != str(_version(last)) and not digest.startswith(onto):
        raise _refused(graph, f"it is to follow {onto}", last)


def _require_made_of(
    ledger: Ledger, graph: WorkflowGraph, newest: Object, last: Event
) -> None:
    """Refuse *graph* if it does not follow from *newest*, which *last* committed."""
    own, origins = _mark(graph.document), [*_origins(graph)]
    if _mark(newest) in (own, *origins[:1]):
        return
    committed = _committed(ledger, graph.name)
    made_of = next((committed[one] for one in origins if one in committed), None)
    if made_of == _version(last):
        return
    if made_of is not None:
        raise _refused(graph, f"it says that it was made of version {made_of}", last)
    if own in committed:
        raise _refused(graph, f"it says what version {committed[own]} said", last)
    raise _refused(graph, "nothing tells which version it was made of", last)


def _committed(ledger: Ledger, name: str) -> dict[str, int]:
    """Return what was committed as *name*: its digest → the last version that said it."""
    found: dict[str, int] = {}
    for event in committed_events(ledger, name):
        with suppress(ErasedError):
            document = document_of(ledger, event, name)
            found.setdefault(_mark(document), _version(event))
    return found


def _refused(graph: WorkflowGraph, message: str, last: Event) -> RefusedError:
    version = _version(last)
    return RefusedError(
        f"{message}, and version {version} was committed last, by {last.actor:.80}",
        rule="workflow/not-following",
        place=graph.place,
        remedy=f"event {last.seq} has version {version}: if what it says is in this graph, "
        f"commit it with --onto {version}; else make the change again, of that one",
    )


def _not_committed(graph: WorkflowGraph, onto: str) -> CannotTellError:
    return CannotTellError(
        f"it is to follow {onto:.80}, and no graph was committed as {graph.name!r:.80}",
        rule="workflow/not-committed",
        place=graph.place,
        remedy="leave --onto out",
    )

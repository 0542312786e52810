"""What was committed under a name, read from the ledger and performed again.

    for one in workflow_history(ledger, "repair_loop"):
        one.version, one.digest, [(each.edit.op, each.actor) for each in one.edits]

    workflow_committed(ledger, "repair_loop")         the newest graph of that name

Rules:

- The history begins with nothing (``null``) and an edit ``create``. Each edit is performed
  on what the one before left: each digest is computed, none is believed.
- An edit that no commit follows is a contradiction: they are written together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue, canonical, parse, sha256_tag
from muniment.errors import CannotTellError, RefusedError, UsageError, WrongError
from muniment.formats.series import series_key
from muniment_plugins.workflow.documents.edit import WorkflowEdit
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.edits.patches import apply_patch
from muniment_plugins.workflow.vocabulary import HISTORY

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = [
    "COMMITTED",
    "EDITED",
    "CommittedWorkflow",
    "RecordedEdit",
    "committed_events",
    "document_of",
    "performed",
    "workflow_committed",
    "workflow_history",
]

Object = Mapping[str, JsonValue]
EDITED = "workflow.edited"
COMMITTED = "workflow.committed"


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """An edit, as the ledger has it."""

    seq: int
    time: str
    actor: str
    """Who committed it, as the ledger knows; `edit` says who made it, if that is another."""
    edit: WorkflowEdit


@dataclass(frozen=True, slots=True)
class CommittedWorkflow:
    """A graph that was committed, and the edits since the one before."""

    name: str
    version: int
    digest: str
    seq: int
    time: str
    actor: str
    reason: str
    edits: tuple[RecordedEdit, ...]
    document_text: str = field(repr=False)
    """The document as canonical JSON."""

    @property
    def graph(self) -> WorkflowGraph:
        """The graph."""
        return WorkflowGraph.from_document(parse(self.document_text.encode()))


def workflow_history(ledger: Ledger, name: str) -> tuple[CommittedWorkflow, ...]:
    """Return what was committed under *name*, the oldest first; empty if nothing was.

    Raises:
        WrongError: a digest does not follow; ``seq`` is the event.
        ErasedError: a patch or a document was erased.

    """
    return tuple(_replayed(ledger, name))


def workflow_committed(
    ledger: Ledger, name: str, digest: str | None = None
) -> WorkflowGraph:
    """Return the newest graph that was committed under *name*, or the one with *digest*.

    Raises:
        CannotTellError: there is none.
        WrongError: its document has another digest than its event states.
        ErasedError: its document was erased.

    """
    for event in committed_events(ledger, name):
        if digest is None or event.raw.get("graph") == digest:
            document = document_of(ledger, event, name)
            return WorkflowGraph.from_document(document)
    with_digest = "" if digest is None else f" with the digest {digest:.80}"
    raise CannotTellError(
        f"no graph was committed as {name!r:.80}{with_digest}",
        rule="workflow/not-committed",
        place=str(ledger.path),
        remedy="commit it by workflow_commit(ledger, graph)",
    )


def committed_events(ledger: Ledger, name: str) -> Iterator[Event]:
    """Yield the events that committed a graph as *name*, the newest first."""
    key = series_key(HISTORY, name)
    yield from ledger.events(type=COMMITTED, series=key, order="desc")


def performed(document: JsonValue, edit: WorkflowEdit) -> JsonValue:
    """Return what *edit* makes of *document*.

    Raises:
        RefusedError: it was made of another document, or makes another one.

    """
    _require_digest(document, edit.before, "it was made of another document")
    try:
        made = apply_patch(document, edit.patch)
    except UsageError as error:
        raise _unfit(error.message) from error
    _require_digest(made, edit.after, "its patch makes another document")
    return made


def _require_digest(document: JsonValue, digest: str, otherwise: str) -> None:
    if sha256_tag(canonical(document)) != digest:
        raise _unfit(otherwise)


def _unfit(message: str) -> RefusedError:
    return RefusedError(
        message,
        rule="workflow/edits",
        place="the edits of the graph",
        remedy="edit it by the workflow_* functions only",
    )


def _replayed(ledger: Ledger, name: str) -> Iterator[CommittedWorkflow]:
    document: JsonValue = None
    edits: list[RecordedEdit] = []
    version = 0
    kinds, key = f"{EDITED},{COMMITTED}", series_key(HISTORY, name)
    for event in ledger.events(type=kinds, series=key, to_seq=ledger.head.size):
        if event.type == EDITED:
            edit = _edit(ledger, event)
            document = _performed(document, edit, event)
            edits.append(RecordedEdit(event.seq, event.time, event.actor, edit))
            continue
        found = _committed(ledger, event, name, tuple(edits))
        if canonical(document).decode() != found.document_text:
            raise _wrong(event, "its edits do not lead to its document")
        if found.version <= version:
            raise _wrong(event, f"version {found.version} is not above {version}")
        version, edits = found.version, []
        yield found
    if edits:
        raise WrongError(
            "no commit follows the edit",
            rule="workflow/history",
            seq=edits[0].seq,
            place=f"event {edits[0].seq}",
            remedy="only workflow_commit writes edits",
        )


def _edit(ledger: Ledger, event: Event) -> WorkflowEdit:
    said = cast("Mapping[str, JsonValue]", ledger.resolve(event))
    return WorkflowEdit(
        op=cast("str", said["op"]),
        before=cast("str", said["before"]),
        after=cast("str", said["after"]),
        patch_text=canonical(said["patch"]).decode(),
        node=cast("str | None", said.get("node")),
        field=cast("str | None", said.get("field")),
        reason=cast("str", said.get("reason", "")),
        actor=cast("str | None", said.get("actor")),
    )


def _performed(document: JsonValue, edit: WorkflowEdit, event: Event) -> JsonValue:
    try:
        return performed(document, edit)
    except RefusedError as error:
        raise _wrong(event, error.message) from error


def _committed(
    ledger: Ledger, event: Event, name: str, edits: tuple[RecordedEdit, ...]
) -> CommittedWorkflow:
    document = document_of(ledger, event, name)
    reason = cast("str", ledger.resolve(event).get("reason", ""))
    return CommittedWorkflow(
        name=name,
        version=cast("int", event.raw["version"]),
        digest=cast("str", event.raw["graph"]),
        seq=event.seq,
        time=event.time,
        actor=event.actor,
        reason=reason,
        edits=edits,
        document_text=canonical(cast("JsonValue", document)).decode(),
    )


def document_of(ledger: Ledger, event: Event, name: str) -> Object:
    """Return the document that *event* committed, once it was compared with its digest.

    Raises:
        WrongError: it has another digest, or another name, than the event states.
        ErasedError: it was erased.

    """
    document = cast("dict[str, JsonValue]", ledger.resolve(event)["document"])
    if sha256_tag(canonical(document)) != event.raw["graph"]:
        raise _wrong(event, "its document has another digest than it states")
    if document.get("name") != name or document.get("version") != event.raw["version"]:
        raise _wrong(event, "its document has another name, or another version")
    return document


def _wrong(event: Event, message: str) -> WrongError:
    return WrongError(
        message,
        rule="workflow/history",
        seq=event.seq,
        place=f"event {event.seq}",
        remedy="whoever wrote the event did not use workflow_commit: ask its actor, "
        f"{event.actor:.80}",
    )

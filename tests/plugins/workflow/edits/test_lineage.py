"""A graph that was edited as a file undoes nothing that somebody else committed meanwhile.

Rules: several people edit files and commit them, in a drawn order. Each edit is of a file as
it is; what is accepted has everything that was committed before, but for what its own edits
took away. A file that was made of the newest version is accepted.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import CannotTellError, MunimentError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    WorkflowGraph,
    workflow_commit,
    workflow_committed,
    workflow_graph,
)
from muniment_plugins.workflow.documents.shapes import MOST_MARKS
from muniment_plugins.workflow.edits.lineage import marked, onto_newest
from muniment_plugins.workflow.edits.patches import apply_patch

Document: TypeAlias = dict[str, Any]
Step: TypeAlias = tuple[str, int, int]

BEGIN: Document = {"name": "w", "nodes": {"act": {"handler": "h:a"}}, "metadata": {}}


@dataclass(frozen=True)
class File:
    """A file of somebody."""

    text: str
    of: File | None = None
    """Which file it was made of."""

    @property
    def graph(self) -> WorkflowGraph:
        """The graph that is read from it."""
        return workflow_graph(json.loads(self.text))

    @property
    def keys(self) -> frozenset[str]:
        """What the edits left in it."""
        return frozenset(json.loads(self.text)["metadata"])


def edit(file: File, patch: list[Document]) -> File:
    """Edit *file* as `muniment workflow edit` does."""
    changed = apply_patch(dict(file.graph.document), patch)
    made = workflow_graph(cast("Document", changed))
    return File(json.dumps(marked(made, file.graph)), file)


def add(name: object) -> list[Document]:
    """Return the patch that adds a key."""
    return [{"op": "add", "path": f"/metadata/k{name}", "value": 1}]


class Desk:
    """Files of one history, and what became of them."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.files = [File(json.dumps(BEGIN))]
        self.commits: list[File] = []

    def edit(self, at: int, what: int) -> None:
        """Add a key to a file, or take one away; the file stays as it is."""
        file = self.files[at % len(self.files)]
        keys = sorted(file.keys)
        if what % 3 or not keys:
            patch = add(len(self.files))
        else:
            patch = [{"op": "remove", "path": f"/metadata/{keys[what % len(keys)]}"}]
        self.files.append(edit(file, patch))

    def base(self, file: File | None) -> int:
        """Return which commit *file* was made of last, counted from 0."""
        found = -1
        while file is not None:
            found = max(
                found, *(n for n, one in enumerate(self.commits) if one is file), -1
            )
            file = file.of
        return found

    def commit(self, at: int, _: int) -> None:
        """Commit a file, and judge whether it was to be accepted."""
        file = self.files[at % len(self.files)]
        newest, base = len(self.commits) - 1, self.base(file)
        rule = ""
        try:
            workflow_commit(self.ledger, onto_newest(self.ledger, file.graph))
        except RefusedError as error:
            rule = error.rule
        if newest >= 0 and file.keys == self.commits[newest].keys:
            assert rule == "workflow/unchanged"
        elif rule:
            assert (rule, newest >= 0) == ("workflow/not-following", True)
            assert base != newest or self.came_back()
        else:
            assert newest < 0 or self.commits[base].keys == self.commits[newest].keys
            self.commits.append(file)
            assert workflow_committed(self.ledger, "w").version == newest + 2

    def came_back(self) -> bool:
        """Tell whether some file says what another says: nothing tells them apart."""
        return len({one.keys for one in self.files}) < len(self.files)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["edit", "edit", "commit"]),
        st.integers(0, 9),
        st.integers(0, 8),
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_nobody_undoes_a_commit(steps: list[Step]) -> None:
    """A commit is accepted if its file was made of what was committed last."""
    with (
        tempfile.TemporaryDirectory() as place,
        Ledger.create(Path(place) / "l.db", home=Path(place) / "home") as ledger,
    ):
        desk = Desk(ledger)
        desk.commit(0, 0)
        for what, at, more in steps:
            (desk.edit if what == "edit" else desk.commit)(at, more)


def commit(book: Ledger, file: File, onto: str | None = None) -> int:
    """Commit a file, and return its version."""
    return workflow_commit(book, onto_newest(book, file.graph, onto)).version


def test_what_was_committed_is_edited_on(book: Ledger) -> None:
    """A chain of edits is committed as it goes, whatever the version in its files is."""
    file = File(json.dumps(BEGIN))
    assert commit(book, file) == 1
    for number in range(2, MOST_MARKS + 9):
        file = edit(file, add(number))
        if number % 3:
            continue
        assert commit(book, file) == number // 3 + 1
    assert len(file.graph.made_of) == MOST_MARKS


def test_a_stale_file_is_refused_until_somebody_looked(book: Ledger) -> None:
    """Of two edits of one version the second is refused; who merged them says so."""
    begin = File(json.dumps(BEGIN))
    ann, bob = edit(begin, add("ann")), edit(begin, add("bob"))
    assert (commit(book, begin), commit(book, ann)) == (1, 2)
    with pytest.raises(RefusedError, match="made of version 1, and version 2") as found:
        commit(book, bob)
    assert found.value.rule == "workflow/not-following"
    assert "--onto 2" in found.value.remedy
    for onto in ("1", "sha256:00000000"):
        with pytest.raises(RefusedError, match=f"it is to follow {onto}"):
            commit(book, bob, onto)
    both = edit(bob, add("ann"))
    assert commit(book, both, workflow_committed(book, "w").digest) == 3
    assert commit(book, edit(both, add("more")), "3") == 4


@pytest.mark.parametrize("version", [None, 1, 2, 9])
def test_a_file_by_hand_says_what_it_follows(book: Ledger, version: int | None) -> None:
    """A version that somebody wrote tells nothing of what the file was made of."""
    assert commit(book, File(json.dumps(BEGIN))) == 1
    said = {**BEGIN, "metadata": {"k": 1}}
    said |= {} if version is None else {"version": version}
    by_hand = File(json.dumps(said))
    with pytest.raises(RefusedError, match="nothing tells which version"):
        commit(book, by_hand)
    assert commit(book, by_hand, "1") == max(version or 0, 2)


def test_what_says_an_older_version_again_is_refused(book: Ledger) -> None:
    """Also if it is the very file that was committed then; who means it says so."""
    begin = File(json.dumps(BEGIN))
    assert (commit(book, begin), commit(book, edit(begin, add(1)))) == (1, 2)
    with pytest.raises(RefusedError, match="what version 1 said"):
        commit(book, begin)
    assert commit(book, begin, "2") == 3


@pytest.mark.parametrize(
    ("onto", "error"),
    [("x", UsageError), ("", UsageError), ("0", UsageError), ("sha256:", UsageError)],
)
def test_what_is_no_version(
    book: Ledger, onto: str, error: type[MunimentError]
) -> None:
    """It is refused as such; and so is any where nothing was committed."""
    file = File(json.dumps(BEGIN))
    with pytest.raises(CannotTellError, match="no graph was committed"):
        commit(book, file, "1")
    commit(book, file)
    with pytest.raises(error, match="neither a version nor a digest"):
        commit(book, edit(file, add(1)), onto)


def test_what_it_was_made_of_is_no_part_of_a_graph() -> None:
    """Digest, document and the graph in a node are without it."""
    plain = workflow_graph(BEGIN)
    said = workflow_graph({**BEGIN, "made_of": [plain.digest]})
    assert (said.digest, said.document) == (plain.digest, plain.document)
    assert said.made_of == (plain.digest,)
    node = {"kind": "subagent", "graph": {**BEGIN, "made_of": [plain.digest]}}
    bare = {"kind": "subagent", "graph": BEGIN}
    inner, outer = ({"nodes": {"act": one}} for one in (node, bare))
    assert workflow_graph(inner).digest == workflow_graph(outer).digest

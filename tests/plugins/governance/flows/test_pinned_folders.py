"""What an agent sees of a pinned folder is in its digest, folders without files too."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow
from muniment.encoding.canonical import canonical, sha256_tag
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.governance import FlowManifest, load_flow, start_flow
from muniment_plugins.governance.documents.manifest import DatasetPin
from muniment_plugins.governance.flows import assembly, start
from muniment_plugins.governance.flows.pins.datasets import PinnedData, pinned

TREES: dict[str, tuple[str, ...]] = {
    "a file": ("a.txt",),
    "two": ("a.txt", "b/c.txt"),
    "empty": ("a.txt", "e/"),
    "empty in a folder": ("a.txt", "b/c.txt", "b/e/"),
    "empty in empty": ("a.txt", "e/e/"),
    "named as a file": ("a.txt", "a/"),
    "nothing": (),
    "only empty": ("e/",),
    "another": ("f/",),
}
PIN: dict[str, Any] = {
    "dataset_id": "d",
    "tenant_id": "tenant-a",
    "dataset_version": "1",
    "dataset_hash": "0" * 64,
    "dataset_state": "experimental",
    "storage_uri": "file://data",
}


def plant(place: Path, tree: tuple[str, ...]) -> None:
    """Make a folder with these files, and folders, which end in a slash."""
    top = place / "data"
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir()
    for one in tree:
        path = top / one
        if one.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(one)


def digest(place: Path, tree: tuple[str, ...], edition: int = 2) -> PinnedData:
    """Return the digests of such a folder."""
    plant(place, tree)
    return pinned(DatasetPin(**PIN), place, edition)


def test_each_tree_has_a_digest_of_its_own(tmp_path: Path) -> None:
    """No two of them have one."""
    digests = {name: digest(tmp_path, tree).sha256 for name, tree in TREES.items()}
    for one, other in itertools.combinations(digests, 2):
        assert digests[one] != digests[other], (one, other)


@pytest.mark.parametrize("name", TREES)
def test_what_has_no_empty_folder_keeps_its_digest(tmp_path: Path, name: str) -> None:
    """It is that of its files, as ever; of every tree it is what the first edition had."""
    tree = TREES[name]
    files = sorted(one for one in tree if not one.endswith("/"))
    ever = sha256_tag(canonical([[one, sha256_tag(one.encode())] for one in files]))
    now = digest(tmp_path, tree)
    assert digest(tmp_path, tree, 1).sha256 == ever
    assert (now.sha256 == ever) == (len(files) == len(tree))
    assert now.files == len(files)


def frozen(place: Path, declared: str) -> FlowManifest:
    """Return a flow over the frozen folder."""
    pin = {**PIN, "dataset_hash": declared, "dataset_state": "frozen"}
    return load_flow(write_flow(place, sum_document(dataset=pin)))


def test_an_empty_folder_is_noticed(book: Ledger, place: Path) -> None:
    """Frozen data to which one is added is not what it was."""
    now = digest(place, TREES["two"])
    flow = frozen(place, now.sha256)
    assert start_flow(book, flow).ok
    (place / "data" / "later").mkdir()
    with pytest.raises(RefusedError, match="changed"):
        start_flow(book, flow)


def test_of_an_earlier_record(
    book: Ledger, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that pinned an empty folder by the old rule still replays; its version holds."""
    old = digest(place, TREES["empty"], 1)
    monkeypatch.setattr(assembly, "EDITION", 1)
    monkeypatch.setattr(start, "pinned", lambda one, folder: pinned(one, folder, 1))
    done = start_flow(book, frozen(place, old.sha256))
    monkeypatch.undo()
    monkeypatch.chdir(place)
    assert done.ok, done.error
    assert replay(book, done.run_id).verdict == "acceptable"
    now = digest(place, TREES["empty"])
    assert start_flow(book, frozen(place, now.sha256)).ok
    (place / "data" / "later").mkdir()
    after = pinned(DatasetPin(**PIN), place)
    with pytest.raises(RefusedError, match="was frozen as"):
        start_flow(book, frozen(place, after.sha256))

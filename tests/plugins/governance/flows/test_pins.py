"""What a flow is pinned to: its data by computed digests, its declared environment."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow
from muniment.errors import CannotTellError, RefusedError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment_plugins.governance import load_flow, start_flow
from muniment_plugins.governance.documents.manifest import DatasetPin
from muniment_plugins.governance.flows.pins.datasets import pinned
from muniment_plugins.governance.flows.pins.environment import (
    differences,
    environment_of,
)

Document = dict[str, Any]


def pin(**members: object) -> Document:
    """Return a dataset with these members."""
    return {
        "dataset_id": "corpus",
        "tenant_id": "tenant-a",
        "dataset_version": "1",
        "dataset_hash": "b1946ac92492d2347c6235b4d2611184",
        "dataset_state": "frozen",
        "storage_uri": "file://corpus.txt",
        **members,
    }


def run_on(book: Ledger, place: Path, **members: object) -> Done:
    """Run the flow on data."""
    flow = sum_document(dataset=pin(**members), allow_deprecated_datasets=True)
    return start_flow(book, load_flow(write_flow(place, flow)))


SHA = hashlib.sha256(b"hello\n").hexdigest()


@pytest.mark.parametrize(
    "declared",
    [
        "b1946ac92492d2347c6235b4d2611184",
        "md5:b1946ac92492d2347c6235b4d2611184",
        SHA,
        f"sha256:{SHA}",
    ],
)
def test_data_as_declared(book: Ledger, place: Path, declared: str) -> None:
    """SHA-256 is computed; the digest that DVC writes is accepted beside it."""
    (place / "corpus.txt").write_text("hello\n")
    done = run_on(book, place, dataset_hash=declared)
    assert done.ok, done.error
    (told,) = book.events(run=done.run_id, type="dataset.pinned")
    assert told.raw["sha256"] == f"sha256:{SHA}"
    assert replay(book, done.run_id).verdict == "acceptable"
    (place / "corpus.txt").write_text("hallo\n")
    report = replay(book, done.run_id)
    assert report.verdict == "unacceptable"
    assert report.first_divergence is not None
    assert report.first_divergence.field == "dataset.sha256"


@pytest.mark.parametrize("state", ["frozen", "deprecated"])
def test_data_that_changed(book: Ledger, place: Path, state: str) -> None:
    """Frozen data that is not what was declared refuses the run; nothing is written."""
    (place / "corpus.txt").write_text("hallo\n")
    with pytest.raises(RefusedError, match="data changed") as caught:
        run_on(book, place, dataset_state=state)
    assert caught.value.exit_code == 4
    assert [*book.runs()] == []
    assert run_on(book, place, dataset_state="experimental").ok


def test_data_that_is_gone(book: Ledger, place: Path) -> None:
    """Data that is not there is cannot tell, and nothing is written."""
    with pytest.raises(CannotTellError, match="the data cannot be read"):
        run_on(book, place)
    assert [*book.runs()] == []


def test_states_never_go_back(book: Ledger, place: Path) -> None:
    """A version that was frozen is neither experimental again, nor other data."""
    file = place / "corpus.txt"
    file.write_text("hello\n")
    assert run_on(book, place, dataset_state="experimental").ok
    file.write_text("hallo\n")
    assert run_on(book, place, dataset_state="experimental").ok
    file.write_text("hello\n")
    assert run_on(book, place).ok
    with pytest.raises(RefusedError, match="cannot be experimental again"):
        run_on(book, place, dataset_state="experimental")
    other = hashlib.sha256(b"hallo\n").hexdigest()
    file.write_text("hallo\n")
    with pytest.raises(RefusedError, match="version 1 was frozen as"):
        run_on(book, place, dataset_hash=other)
    assert run_on(book, place, dataset_hash=other, dataset_version="2").ok
    file.write_text("hello\n")
    assert run_on(book, place, dataset_state="deprecated").ok
    with pytest.raises(RefusedError, match="cannot be frozen again"):
        run_on(book, place)


def test_folders(tmp_path: Path) -> None:
    """The digest of a folder is that of its list, the other one as DVC computes it."""
    folder = tmp_path / "data"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "two").write_text("2")
    (folder / "one").write_text("1")
    data = DatasetPin("d", "t", "1", "", "frozen", "file://data")
    now = pinned(data, tmp_path)
    listed = [
        {"md5": hashlib.md5(text).hexdigest(), "relpath": name}  # noqa: S324 - as DVC
        for name, text in (("b/two", b"2"), ("one", b"1"))
    ]
    text = json.dumps(listed, sort_keys=True).encode()
    assert now.md5 == hashlib.md5(text).hexdigest() + ".dir"  # noqa: S324 - as DVC
    assert (now.files, now.bytes) == (2, 2)
    (folder / "one").rename(folder / "1")
    assert pinned(data, tmp_path).sha256 != now.sha256
    (folder / "link").symlink_to(folder / "1")
    with pytest.raises(CannotTellError, match="it is a link"):
        pinned(data, tmp_path)


# -- environment -----------------------------------------------------------------


def test_the_declared_environment() -> None:
    """What muniment declares to need is there, and nothing that is merely installed."""
    found: Any = environment_of("strict", [])
    assert {"muniment", "pluggy", "cryptography", "pydantic"} <= found[
        "distributions"
    ].keys()
    assert not {"pytest", "hypothesis", "pyyaml"} & found["distributions"].keys()
    own: Any = environment_of("strict", [{"import": "hypothesis.core:given"}])
    assert "hypothesis" in own["distributions"]
    loose: Any = environment_of(
        "strict", [{"import": "agents:read", "files": {"agents.py": "sha256:0"}}]
    )
    assert loose["modules"] == {"agents.py": "sha256:0"}


def test_what_has_to_be_equal() -> None:
    """The level says which members of an environment have to be equal."""
    was: Any = environment_of("strict", [])
    now = {**was, "python": "2", "platform": "x", "modules": {"a.py": "sha256:1"}}
    levels: list[Any] = ["strict", "bounded", "probabilistic", "unconstrained"]
    found = [[path for path, _, _ in differences(was, now, one)] for one in levels]
    assert found == [
        ["python", "platform", "modules.a.py"],
        ["python", "modules.a.py"],
        ["modules.a.py"],
        [],
    ]

"""``muniment init --example``: files beside the ledger, and commands that work."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from muniment_plugins.capsule.machine import machine
from muniment_plugins.governance.examples import EXAMPLES


def test_the_example_is_beside_the_ledger(shell: Any, work: Path) -> None:
    """Ledger and files are made, and what to type next is said."""
    done = shell("init", "--example", "flow")
    assert done.code == 0
    assert (work / ".muniment" / "ledger.db").is_file()
    for name, content in EXAMPLES["flow"].files():
        assert (work / name).read_bytes() == content
    said = done.out.partition("Type next:\n")[2].splitlines()
    strong = machine().level == "os-strong"
    trust = "" if strong else " --trust-program"
    first, second, third = EXAMPLES["flow"].commands
    assert said == [f"  {first}", f"  {second}", f"  {third}{trust}"]


def test_nothing_is_written_over(shell: Any, work: Path) -> None:
    """A file of another content refuses all of it, before the ledger is made."""
    (work / "agents.py").write_text("mine = 1\n")
    done = shell("init", "--example", "flow")
    assert done.code == 4
    assert "agents.py" in done.err
    assert [one.name for one in work.iterdir()] == ["agents.py"]
    assert (work / "agents.py").read_text() == "mine = 1\n"


def test_a_link_is_not_followed(shell: Any, work: Path) -> None:
    """A link where a file goes is something that is there, wherever it leads."""
    (work / "policy.json").symlink_to(work / "elsewhere")
    assert shell("init", "--example", "flow").code == 4
    assert not (work / "elsewhere").exists()


def test_examples_share_a_ledger(shell: Any, work: Path) -> None:
    """The second one is written beside the ledger of the first, which stays as it is."""
    first = shell("init", "--example", "flow", "--json").json
    before = (work / ".muniment" / "ledger.db").read_bytes()
    second = shell("init", "--example", "model", "--json").json
    assert second["files"] == [name for name, _ in EXAMPLES["model"].files()]
    assert not {*first["files"]} & {*second["files"]}
    assert (work / ".muniment" / "ledger.db").read_bytes() == before
    again = shell("init", "--example", "model")
    assert again.code == 0
    assert "wrote" not in again.out
    assert shell("init").code == 4


def test_another_directory(shell: Any, work: Path) -> None:
    """The files are in the directory, and the first command goes there."""
    made = shell("init", "new", "--example", "flow", "--json").json
    assert made["next"][0] == "cd new"
    assert {one.name for one in (work / "new").iterdir()} == {
        ".muniment",
        *(name for name, _ in EXAMPLES["flow"].files()),
    }


def test_another_place_of_the_ledger(shell: Any, work: Path) -> None:
    """A ledger that is not found from the files is named first."""
    made = shell("init", "book.db", "--example", "flow", "--json").json
    assert made["next"][0] == f"export MUNIMENT_LEDGER={work.resolve() / 'book.db'}"


@pytest.mark.parametrize(("typed", "meant"), [("flows", "flow"), ("modle", "model")])
def test_unknown_examples(shell: Any, work: Path, typed: str, meant: str) -> None:
    """A name that is near is suggested, all are said, and nothing is made."""
    done = shell("init", "--example", typed)
    assert done.code == 2
    assert f"did you mean {meant}? known: flow, model" in done.err
    assert [*work.iterdir()] == []


def test_the_data_of_the_flow_is_pinned() -> None:
    """The digest in the manifest is that of the data which ships with it."""
    files = dict(EXAMPLES["flow"].files())
    dataset = json.loads(files["flow.json"])["dataset"]
    data = files[dataset["storage_uri"].removeprefix("file://")]
    assert dataset["dataset_hash"] == f"sha256:{hashlib.sha256(data).hexdigest()}"

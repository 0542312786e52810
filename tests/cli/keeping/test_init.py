"""Making ledgers from the shell: the first one, and one that goes on from it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from muniment.formats.checkpoint import Checkpoint, Note
from muniment.ledger import Ledger


def test_init_makes_a_ledger_that_verifies(shell: Any, work: Path) -> None:
    """The first two commands of a user: init, verify; both exit 0."""
    done = shell("init")
    assert done.code == 0
    assert (work / ".muniment" / "ledger.db").is_file()
    assert (work / ".muniment" / ".gitignore").read_text() == "*\n"
    checked = shell("verify", "--require", "complete", "--json")
    assert checked.code == 0
    assert checked.json["completeness"] == "checked"


def test_init_says_what_to_pin_and_move_away(shell: Any) -> None:
    """The fingerprint is the root's; both recovery files are named, and are there."""
    made = shell("init", "--json").json
    root = shell("keys", "--json").json[0]
    assert made["fingerprint"] == root["keyid"]
    assert root["pinned"]
    assert [Path(path).name for path in made["recovery"]] == [
        "root.pem",
        "next-root.pem",
    ]
    assert all(Path(path).stat().st_mode & 0o077 == 0 for path in made["recovery"])


def test_init_in_another_directory_or_file(shell: Any, work: Path) -> None:
    """A directory gets its .muniment; a name that ends in .db is the file itself."""
    assert shell("init", "sub").code == 0
    assert (work / "sub" / ".muniment" / "ledger.db").is_file()
    assert shell("init", "plain.db").code == 0
    assert (work / "plain.db").is_file()


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("init typo/new", "typo"),
        ("init typo/deep/new", "typo/deep"),
        ("init typo/new.db", "typo"),
        ("init typo/.muniment/ledger.db", "typo"),
        ("--ledger typo/new.db init", "typo"),
        ("--ledger typo/.muniment/ledger.db init", "typo"),
        ("init new --blobs typo/large", "typo"),
        ("backup typo/copy.db", "typo"),
        ("backup typo/deep/", "typo"),
    ],
)
def test_no_directory_above_the_named_one_is_made(
    shell: Any, work: Path, line: str, missing: str
) -> None:
    """A mistyped path is refused and leaves nothing; after the remedy it works."""
    if line.startswith("backup"):
        assert shell("init").code == 0
    before = sorted(work.rglob("*"))
    refused = shell(*line.split())
    assert (refused.code, refused.out) == (2, "")
    assert "directory/missing" in refused.err
    assert sorted(work.rglob("*")) == before
    assert f"`mkdir -p {work / missing}`" in " ".join(refused.err.split())
    (work / missing).mkdir(parents=True)
    assert shell(*line.split()).code == 0


@pytest.mark.parametrize("line", ["init sub/.muniment/ledger.db", "init sub/"])
def test_a_whole_path_names_the_same_ledger(shell: Any, work: Path, line: str) -> None:
    """What `init` printed can be given to it again, whether a slash is at its end."""
    (work / "sub").mkdir()
    assert shell(*line.split()).code == 0
    assert (work / "sub" / ".muniment" / "ledger.db").is_file()


def test_init_never_writes_over_anything(shell: Any, work: Path) -> None:
    """A second init is refused, exit 4, and leaves the first as it was."""
    shell("init")
    place = work / ".muniment" / "ledger.db"
    before = place.read_bytes()
    done = shell("init")
    assert (done.code, done.out) == (4, "")
    assert "ledger/exists" in done.err
    assert f"`muniment --ledger {place} status` looks at it" in done.err
    assert place.read_bytes() == before


def test_init_where_a_ledger_was_names_forget(shell: Any, work: Path) -> None:
    """A place that is remembered is not taken again before it is forgotten."""
    shell("init")
    shutil.rmtree(work / ".muniment")
    refused = shell("init")
    assert refused.code == 4
    assert "muniment forget" in refused.err
    assert shell("forget", ".muniment/ledger.db").code == 0
    assert shell("init").code == 0


def test_a_successor_quotes_the_old_ledger(shell: Any, made: Path) -> None:
    """Its genesis has the old id, the last checkpoint and the reason, and verifies."""
    shell("checkpoint")
    with Ledger.open(made, readonly=True) as old:
        old_id, size = old.id, old.head.size
    done = shell("init", "next", "--continues", made, "--reason", "moved", "--json")
    assert done.code == 0
    quoted = done.json["continues"]
    assert (quoted["ledger"], quoted["reason"]) == (old_id, "moved")
    note = Note.parse(quoted["checkpoint"].encode())
    assert Checkpoint.parse(note.text).size == size
    assert shell("verify", "next").code == 0


def test_a_successor_of_a_ledger_that_is_gone(shell: Any, made: Path) -> None:
    """The trust home still knows the id and the last tree head of a lost file."""
    with Ledger.open(made, readonly=True) as old:
        old_id = old.id
    shutil.rmtree(made.parent)
    for name, past in (("a", str(made)), ("b", old_id)):
        done = shell("init", name, "--continues", past, "--reason", "lost", "--json")
        assert done.code == 0, done.err
        assert done.json["continues"]["ledger"] == old_id


def test_a_successor_gives_a_reason(shell: Any, made: Path) -> None:
    """Without a reason, or with an empty one, nothing is made: exit 2."""
    for more in ((), ("--reason", " ")):
        done = shell("init", "next", "--continues", made, *more)
        assert done.code == 2
        assert "continues/reason" in done.err
    assert not Path("next").exists()


def test_nobody_succeeds_what_never_was(shell: Any) -> None:
    """An unknown predecessor is said to be unknown."""
    done = shell("init", "next", "--continues", "nowhere.db", "--reason", "x")
    assert done.code == 3
    unknown = "sha256:" + "0" * 64
    done = shell("init", "next", "--continues", unknown, "--reason", "x")
    assert done.code == 3
    assert "continues/no-checkpoint" in done.err

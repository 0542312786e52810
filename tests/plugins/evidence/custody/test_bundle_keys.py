"""Bundles from before and after keys changed, and contents were erased, in three verifiers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from first_hour import Newcomer
from three_verifiers import NEEDS_NODE, verifiers

pytestmark = [
    pytest.mark.slow,
    NEEDS_NODE,
]
PROGRAM = """
def main(run):
    run.effect("llm", {"prompt": "secret"}, lambda _: {"said": "secret, too"})
    return "done"
"""


@dataclass(frozen=True)
class Owner:
    """A ledger's owner, and the fingerprints of its roots."""

    user: Newcomer
    roots: list[str]
    recovery: list[str]

    def said(self, *words: object) -> Any:
        """Return what a command prints for machines."""
        done = self.user.muniment(*words, "--json")
        assert done.code == 0, (words, done.err, done.out)
        return json.loads(done.out)

    def run(self) -> str:
        """Run the program."""
        return str(self.said("run", "work.py:main")["run"])

    def bundle(self, run: str, name: str) -> Path:
        """Write the bundle of a run."""
        self.said("bundle", run, "-o", name)
        return self.user.folder / name

    def codes(self, bundle: Path, root: str) -> tuple[int, int, int]:
        """Verify a bundle as somebody else, three times."""
        with verifiers(root, self.user.home / "nobody") as three:
            return three.codes(bundle)[0]


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    """Make a ledger by the command."""
    user = Newcomer(tmp_path / "desk", tmp_path / "home")
    user.folder.mkdir()
    user.home.mkdir()
    (user.folder / "work.py").write_text(PROGRAM)
    made = json.loads(user.muniment("init", "--json").out)
    return Owner(user, [made["fingerprint"]], made["recovery"])


def test_rotation_pre_rotation_and_revocation(owner: Owner) -> None:
    """Whatever was signed in its time holds; the new root vouches for what has it."""
    first, second = owner.recovery
    before = owner.bundle(owner.run(), "before.zip")
    owner.said("keys", "rotate", "--role", "writer", "--root", first)
    owner.said("keys", "rotate", "--role", "checkpoint", "--root", first)
    between = owner.bundle(owner.run(), "between")
    new = owner.said("keys", "rotate", "--root", second)["root"]
    words = ("keys", "request", "--key", "a.pem", "--name", "laptop", "-o", "a.json")
    assert owner.user.muniment(*words).code == 0
    owner.said("keys", "enrol", "a.json", "--root", second)
    why = ("--reason", "stolen", "--root", second)
    owner.said("keys", "revoke", "laptop", *why)
    after = owner.bundle(owner.run(), "after.zip")

    old = owner.roots[0]
    for one in (before, between, after):
        assert owner.codes(one, old) == (0, 0, 0), one
    assert owner.codes(after, new) == (0, 0, 0)
    for one in (before, between):
        assert owner.codes(one, new) == (1, 1, 1), one  # it has no such key yet
    (writer, *_) = [
        one["keyid"] for one in owner.said("keys") if "writer" in str(one["roles"])
    ]
    assert owner.codes(after, writer) == (3, 3, 3)  # a key, and no root
    for one in (before, between, after):
        nobody = Newcomer(owner.user.folder, owner.user.home / "nobody")
        assert nobody.muniment("verify", one).code == 3  # nobody vouched for it


def test_an_erasure_and_a_restored_backup(owner: Owner) -> None:
    """A bundle from before keeps what it had; a backup from before loses it again."""
    run = owner.run()
    before = owner.bundle(run, "before.zip")
    owner.said("backup", "backup.db")
    listed = ("events", "list", "--run", run, "--type", "llm.requested")
    (asked,) = owner.said(*listed)
    blob = asked["data"]["request"]["$blob"]
    owner.said("erase", blob, "--reason", "asked to")
    after = owner.bundle(run, "after.zip")

    root = owner.roots[0]
    assert owner.codes(before, root) == (0, 0, 0)
    assert owner.codes(after, root) == (0, 0, 0)
    assert b"secret" in before.read_bytes()
    assert b'{"prompt":"secret"}' not in after.read_bytes()
    assert owner.user.muniment("verify", before).code == 0  # at home, too

    place = owner.user.folder / ".muniment" / "ledger.db"
    for one in place.parent.glob("ledger.db*"):
        one.unlink()
    (owner.user.folder / "backup.db").rename(place)
    held = [one.read_bytes() for one in place.parent.rglob("*") if one.is_file()]
    assert b'{"prompt":"secret"}' in b"".join(held)
    refused = owner.user.muniment("run", "work.py:main")
    assert refused.code == 4, refused.err  # this home knows a longer log
    assert owner.user.muniment("verify").code == 1
    held = [one.read_bytes() for one in place.parent.rglob("*") if one.is_file()]
    assert b'{"prompt":"secret"}' not in b"".join(held)

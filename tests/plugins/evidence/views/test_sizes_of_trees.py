"""How many events a tree head covers is read exactly, by all three verifiers."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from forge import RUN
from forged import b64, root
from forged_bundles import Bundled
from muniment.encoding.canonical import canonical
from spoiled_bundles import write
from three_verifiers import NEEDS_NODE, Verifiers
from worlds import World

pytestmark = NEEDS_NODE


class SparseTree:
    """A tree with a few real leaves and any number of others, which nobody ever sees."""

    def __init__(self, leaves: list[bytes], size: int) -> None:
        """Put *leaves* before the others."""
        self.leaves, self.size = leaves, size

    def hash(self, first: int, size: int) -> bytes:
        """Return the hash of *size* leaves from *first* on (RFC 6962, 2.1)."""
        if first >= len(self.leaves):
            return sha256(f"{first} {size}".encode()).digest()
        if size == 1:
            return self.leaves[first]
        left = 1 << (size - 1).bit_length() - 1
        both = self.hash(first, left) + self.hash(first + left, size - left)
        return sha256(b"\1" + both).digest()

    def path(self, index: int) -> list[bytes]:
        """Return the inclusion proof of a leaf (2.1.1)."""
        first, size, found = 0, self.size, list[bytes]()
        while size > 1:
            left = 1 << (size - 1).bit_length() - 1
            if index < first + left:
                found.append(self.hash(first + left, size - left))
                size = left
            else:
                found.append(self.hash(first, left))
                first, size = first + left, size - left
        return found[::-1]


SIZES = [
    *(2**one + more for one in (31, 32, 48, 49, 50, 52) for more in (-1, 0, 1)),
    *(2**53 + more for more in range(-2, 4)),
    *(2**60 + 1, 2**62 - 1, 2**63 - 1, 2**63, 2**64, 10**19 - 1, 10**19),
]


@pytest.mark.parametrize("size", SIZES)
def test_a_tree_of_any_size(size: int, three: Verifiers, tmp_path: Path) -> None:
    """Sizes are not rounded: a proof in a tree beyond 2^53 is checked as any other."""
    world = World(tmp_path / "world")
    world.start()
    world.note(run=RUN)
    world.forge.end_run(RUN)
    files = Bundled(world, raw=True).files()
    tree = SparseTree([one.hash for one in world.forge.rows], size)
    paths: list[Any] = [
        [b64(one) for one in tree.path(at)] for at in range(len(tree.leaves))
    ]
    lines = [canonical({"hashes": one, "seq": at}) for at, one in enumerate(paths)]
    files["checkpoint"] = world.forge.sign_note(size, tree.hash(0, size))
    files["proofs.jsonl"] = b"".join(line + b"\n" for line in lines)
    path = write(tmp_path / "bundle", files)
    three.take(path) if size < 2**63 else three.refuse(path, "checkpoint")


@pytest.mark.parametrize(
    "size", ["1" * 6_000, "0", "04", "-4", "4.0", "4e0", "", "\u0664"]
)
def test_a_size_that_is_no_decimal(size: Any, three: Verifiers, tmp_path: Path) -> None:
    """A tree head says its size in one way, whoever signed it."""
    world = World(tmp_path / "world")
    world.start()
    world.note(run=RUN)
    world.forge.end_run(RUN)
    files = Bundled(world, raw=True).files()
    top = root([one.hash for one in world.forge.rows])
    files["checkpoint"] = world.forge.sign_note(size, top)
    three.refuse(write(tmp_path / "bundle", files), "checkpoint")

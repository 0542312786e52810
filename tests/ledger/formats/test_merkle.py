"""Trees: every small one, against three provers that share no code with ours."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import proofbundle.merkle
import pymerkle
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.errors import UsageError, WrongError
from muniment.formats.merkle import (
    EMPTY_ROOT,
    TILE_HEIGHT,
    Frontier,
    consistency_proof,
    decompose,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root,
    subtree_root,
    verify_consistency,
    verify_inclusion,
)

LIMIT = 256
ENTRIES = [b"entry %d" % number for number in range(LIMIT)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]


def vectors(folder: str) -> Path:
    """Return a folder of public vectors, or skip where there are none."""
    beside = Path(__file__).parents[4] / "shared" / "vectors"
    path = Path(os.environ.get("MUNIMENT_VECTORS") or beside) / folder
    if not path.is_dir():
        pytest.skip("no public vectors: set MUNIMENT_VECTORS")
    return path


@cache
def mth(start: int, end: int) -> bytes:
    """Return MTH(D[start:end]), word for word from RFC 6962 §2.1."""
    if start == end:
        return sha256(b"").digest()
    if end - start == 1:
        return sha256(b"\x00" + ENTRIES[start]).digest()
    k = 1
    while k * 2 < end - start:
        k *= 2
    left, right = mth(start, start + k), mth(start + k, end)
    return sha256(b"\x01" + left + right).digest()


def rfc_path(m: int, start: int, end: int) -> list[bytes]:
    """Return PATH(m, D[start:end]), word for word from RFC 6962 §2.1.1."""
    n = end - start
    if n == 1:
        return []
    k = 1
    while k * 2 < n:
        k *= 2
    if m < k:
        return [*rfc_path(m, start, start + k), mth(start + k, end)]
    return [*rfc_path(m - k, start + k, end), mth(start, start + k)]


def rfc_subproof(m: int, start: int, end: int, *, whole: bool) -> list[bytes]:
    """Return SUBPROOF(m, D[start:end], b), word for word from RFC 6962 §2.1.2."""
    n = end - start
    if m == n:
        return [] if whole else [mth(start, end)]
    k = 1
    while k * 2 < n:
        k *= 2
    if m <= k:
        proof = rfc_subproof(m, start, start + k, whole=whole)
        return [*proof, mth(start + k, end)]
    proof = rfc_subproof(m - k, start + k, end, whole=False)
    return [*proof, mth(start, start + k)]


@cache
def node(level: int, index: int) -> bytes:
    """Return the root of a complete subtree, by the RFC's recursion."""
    end = (index + 1) << level
    assert end <= LIMIT, "a proof may only need subtrees that exist"
    return mth(index << level, end)


@pytest.fixture(scope="module")
def pymerkle_tree() -> Any:
    """Return pymerkle's tree of all entries."""
    tree = pymerkle.InmemoryTree()
    for entry in ENTRIES:
        tree.append_entry(entry)
    return tree


def altered(proof: Sequence[bytes]) -> list[list[bytes]]:
    """Return *proof* with each hash flipped, cut or dropped, doubled, and one added."""
    wrong: list[list[bytes]] = [[*proof, bytes(32)], [bytes(32), *proof]]
    for place, value in enumerate(proof):
        before, after = list(proof[:place]), list(proof[place + 1 :])
        flipped = bytes([value[0] ^ 1]) + value[1:]
        wrong += [before + after, [*before, flipped, *after]]
        wrong += [[*before, value[:-1], *after], [*before, value, value, *after]]
    return wrong


def test_roots_agree_with_two_other_trees(pymerkle_tree: Any) -> None:
    """Every size to 256 has the root that the RFC's recursion and pymerkle give it."""
    for size in range(1, LIMIT + 1):
        ours = root(LEAVES[:size])
        assert ours == mth(0, size) == pymerkle_tree.get_root(size)
        assert ours == subtree_root(0, size, node)
    assert root([]) == EMPTY_ROOT == mth(0, 0)


def test_every_leaf_of_every_tree_is_proved() -> None:
    """Our inclusion proofs are the RFC's, hash for hash, and verify."""
    for size in range(1, LIMIT + 1):
        for index in range(size):
            proof = inclusion_proof(index, size, node)
            assert proof == rfc_path(index, 0, size)
            assert verify_inclusion(LEAVES[index], index, size, proof, mth(0, size))


def test_inclusion_proofs_are_those_of_pymerkle(pymerkle_tree: Any) -> None:
    """Every leaf of every tree to 64, and of one of 256, has pymerkle's proof."""
    for size in [*range(1, 65), LIMIT - 3, LIMIT]:
        for index in range(size):
            other = pymerkle_tree.prove_inclusion(index + 1, size)
            assert other.path == [
                LEAVES[index],
                *inclusion_proof(index, size, node),
            ]
            pymerkle.verify_inclusion(LEAVES[index], root(LEAVES[:size]), other)


def test_every_pair_of_sizes_is_consistent() -> None:
    """Our consistency proofs, all 32,896 pairs, are the RFC's and verify."""
    for new in range(1, LIMIT + 1):
        for old in range(1, new + 1):
            proof = consistency_proof(old, new, node)
            assert proof == rfc_subproof(old, 0, new, whole=True)
            assert verify_consistency(old, new, mth(0, old), mth(0, new), proof)


def test_consistency_proofs_convince_other_verifiers(pymerkle_tree: Any) -> None:
    """Proofbundle makes and accepts our proofs; pymerkle proves between our roots."""
    for new in [*range(1, 65), 127, 128, 129, LIMIT]:
        for old in range(1, new + 1):
            proof = consistency_proof(old, new, node)
            roots = mth(0, old), mth(0, new)
            assert proofbundle.merkle.consistency_proof(ENTRIES[:new], old) == proof
            assert proofbundle.merkle.verify_consistency(old, new, proof, *roots)
            other = pymerkle_tree.prove_consistency(old, new)
            pymerkle.verify_consistency(root(LEAVES[:old]), root(LEAVES[:new]), other)


def test_altered_inclusion_proofs_are_refused() -> None:
    """No flipped, cut, dropped, doubled or added hash, no other index or leaf passes."""
    for size in range(1, 66):
        top = mth(0, size)
        for index in range(size):
            leaf, proof = LEAVES[index], inclusion_proof(index, size, node)
            for wrong in altered(proof):
                assert not verify_inclusion(leaf, index, size, wrong, top)
            for other in {*range(-1, size + 2)} - {index}:
                assert not verify_inclusion(leaf, other, size, proof, top)
                assert not verify_inclusion(LEAVES[other], index, size, proof, top)
            for other in {*range(-1, size + 3)} - {size}:
                assert not verify_inclusion(
                    leaf, index, other, proof, mth(0, max(0, other))
                )
            assert not verify_inclusion(leaf, index, size, proof, mth(0, size - 1))


def test_altered_consistency_proofs_are_refused() -> None:
    """No altered hash passes, and no proof serves another pair of sizes."""
    for new in range(1, 66):
        for old in range(1, new + 1):
            roots = mth(0, old), mth(0, new)
            proof = consistency_proof(old, new, node)
            for wrong in altered(proof):
                assert not verify_consistency(old, new, *roots, wrong)
            for size in {*range(-1, new + 2)} - {old, new if not proof else -2}:
                fake = mth(0, max(0, size))
                assert not verify_consistency(size, new, fake, roots[1], proof) or (
                    size == 0 and not proof
                )
            assert not verify_consistency(old, new, *roots[::-1], proof) or old == new
            assert not verify_consistency(new, old, *roots[::-1], proof) or old == new


def test_bytes_cannot_move_between_neighbours() -> None:
    """A hash that is longer by what its neighbour is shorter is not a hash."""
    left, right, top = LEAVES[0], LEAVES[1], mth(0, 2)
    assert verify_inclusion(left, 0, 2, [right], top)
    assert verify_consistency(1, 2, left, top, [right])
    longer, shorter = left + right[:1], right[1:]
    assert not verify_inclusion(longer, 0, 2, [shorter], top)
    assert not verify_consistency(1, 2, longer, top, [shorter])


def test_a_proof_does_not_serve_a_deeper_tree() -> None:
    """The same roots and hashes under a claimed size of another depth are refused."""
    for new in range(2, 66):
        for old in range(1, new):
            proof = consistency_proof(old, new, node)
            size = 1 << (new - 1).bit_length()
            for claimed in (size + 1, size * 2, size * 4):
                roots = mth(0, old), mth(0, new)
                assert not verify_consistency(old, claimed, *roots, proof)


def test_a_forked_tree_is_not_an_extension() -> None:
    """Two histories that differ in one old leaf cannot be proved consistent."""
    for new in range(2, 34):
        for old in range(1, new):
            forked = root([leaf_hash(b"forged"), *LEAVES[1:old]])
            proof = consistency_proof(old, new, node)
            assert not verify_consistency(old, new, forked, mth(0, new), proof)


def test_every_tree_extends_the_empty_one() -> None:
    """From size 0 nothing has to be shown, but its root must be the empty tree's."""
    for size in (0, 1, 7):
        assert consistency_proof(0, size, node) == []
        assert verify_consistency(0, size, EMPTY_ROOT, mth(0, size), [])
        assert not verify_consistency(0, size, bytes(32), mth(0, size), [])
        assert not verify_consistency(0, size, EMPTY_ROOT, mth(0, size), [bytes(32)])
    assert not verify_consistency(0, 0, bytes(32), bytes(32), [])


@pytest.mark.parametrize(("index", "size"), [(0, 0), (5, 5), (-1, 5), (6, 5)])
def test_a_leaf_that_is_not_there_has_no_proof(index: int, size: int) -> None:
    """Asking for it is the caller's mistake, named with the tree's size."""
    with pytest.raises(UsageError, match=rf"{size} leaves has no leaf {index} .*index"):
        inclusion_proof(index, size, node)


@pytest.mark.parametrize(("old", "new"), [(2, 1), (-1, 1), (1, 0)])
def test_a_tree_cannot_extend_a_larger_one(old: int, new: int) -> None:
    """Asking for such a proof is the caller's mistake."""
    with pytest.raises(UsageError, match=rf"{new} leaves cannot extend one of {old}"):
        consistency_proof(old, new, node)


def test_public_vectors() -> None:
    """The test tree of Certificate Transparency has its published hashes."""
    data = json.loads((vectors("rfc6962") / "roots.json").read_text())
    leaves = [leaf_hash(bytes.fromhex(text)) for text in data["leaf_inputs_hex"]]
    for size, expected in enumerate(data["root_by_size_hex"]):
        assert root(leaves[:size]).hex() == expected
    for text, expected in data["leaf_hash"].items():
        assert leaf_hash(text.encode()).hex() == expected
    pair = data["node_hash"]
    assert (
        node_hash(pair["left"].encode(), pair["right"].encode()).hex() == pair["hash"]
    )


@given(st.integers(0, 2**62))
@example(0)
@example(1)
@example(2**62)
def test_any_size_decomposes_into_complete_subtrees(size: int) -> None:
    """The parts are aligned, shrink from left to right, and make exactly the tree."""
    parts = decompose(0, size)
    assert len(parts) == size.bit_count()
    assert [level for level, _ in parts] == sorted(
        {level for level, _ in parts}, reverse=True
    )
    end = 0
    for level, index in parts:
        assert index << level == end
        end += 1 << level
    assert end == size


@given(st.data())
def test_proofs_in_huge_trees_verify(data: st.DataObject) -> None:
    """A tree of 2^62 equal leaves is proved with 62 reads, from any place in it."""
    levels = [LEAVES[0]]
    for _ in range(62):
        levels.append(node_hash(levels[-1], levels[-1]))

    def read(level: int, index: int) -> bytes:
        assert index >= 0
        return levels[level]

    new = data.draw(st.integers(1, 2**62))
    old = data.draw(st.integers(1, new))
    index = data.draw(st.integers(0, new - 1))
    roots = subtree_root(0, old, read), subtree_root(0, new, read)
    proof = inclusion_proof(index, new, read)
    assert verify_inclusion(LEAVES[0], index, new, proof, roots[1])
    assert verify_consistency(old, new, *roots, consistency_proof(old, new, read))


def test_a_frontier_continues_where_it_was_read_back() -> None:
    """At every size, the subtrees named by `decompose` are all that it needs."""
    frontier = Frontier()
    for size, leaf in enumerate(LEAVES):
        nodes = [node(level, index) for level, index in decompose(0, size)]
        assert frontier.nodes == tuple(nodes)
        again = Frontier.from_nodes(size, nodes)
        again.append(leaf)
        frontier.append(leaf)
        assert again.root() == frontier.root() == mth(0, size + 1)
        assert again.size == frontier.size == size + 1


def test_a_copy_grows_alone() -> None:
    """Appending to a copy changes nothing in the original."""
    frontier = Frontier()
    for leaf in LEAVES[:7]:
        frontier.append(leaf)
    copy = frontier.copy()
    copy.append(LEAVES[7])
    assert (frontier.size, frontier.root()) == (7, mth(0, 7))
    assert (copy.size, copy.root()) == (8, mth(0, 8))


@pytest.mark.parametrize(("size", "count"), [(3, 1), (0, 1), (4, 3), (-1, 1)])
def test_a_frontier_of_another_size_is_refused(size: int, count: int) -> None:
    """The number of subtrees must be that of the size."""
    with pytest.raises(
        WrongError, match=rf"{count} subtrees .* {size} leaves .*frontier"
    ):
        Frontier.from_nodes(size, LEAVES[:count])


def test_a_frontier_returns_every_tile_once() -> None:
    """Each subtree of 256^level leaves is handed out when its last leaf arrives."""
    count = 256 * 256 + 300
    leaves = [leaf_hash(b"%d" % number) for number in range(300)]
    frontier, tiles = Frontier(), {}
    for seq in range(count):
        for level, index, value in frontier.append(leaves[seq % 300]):
            assert (index + 1) << (TILE_HEIGHT * level) == seq + 1
            tiles[level, index] = value
    assert set(tiles) == {(1, index) for index in range(257)} | {(2, 0)}
    for index in (0, 1, 100, 256):
        expected = root(
            leaves[seq % 300] for seq in range(index * 256, index * 256 + 256)
        )
        assert tiles[1, index] == expected
    assert tiles[2, 0] == root(tiles[1, index] for index in range(256))

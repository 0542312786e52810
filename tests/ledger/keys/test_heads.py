"""The head memory: forward only, whole after any kill, damage never taken for nothing."""

from __future__ import annotations

import hashlib
import os
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import CannotTellError, UsageError, WrongError
from muniment.trust.head_memory import Head, HeadMemory, lock_file, unlock_file


def leaf(size: int) -> bytes:
    """Return the one hash that a head of *size* has in these tests."""
    return hashlib.sha256(size.to_bytes(8, "big")).digest()


def test_nothing_is_known_before_the_first_head(tmp_path: Path) -> None:
    """Reading a memory that was never written makes no file and knows nothing."""
    path = tmp_path / "head"
    assert HeadMemory(path).read() is None
    assert not path.exists()
    path.touch()
    assert HeadMemory(path).read() is None


def test_the_bytes_of_two_heads(tmp_path: Path) -> None:
    """The file is what the specification shows, to the byte."""
    path = tmp_path / "head"
    with HeadMemory(path) as memory:
        memory.advance(1, leaf(1))
        assert path.stat().st_mode & 0o777 == 0o600
        memory.advance(3, leaf(3))
        memory.sync()
    expected = b""
    for counter, size in ((2, 3), (1, 1)):
        body = b"muniment" + counter.to_bytes(8, "big") + size.to_bytes(8, "big")
        body += leaf(size)
        expected += body + hashlib.sha256(body).digest()[:8]
    assert path.read_bytes() == expected
    assert HeadMemory(path).read() == Head(3, leaf(3))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2**63), st.integers(0, 2)), max_size=30))
def test_it_only_moves_forward(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]
) -> None:
    """Through any interleaving of handles, the largest size is what is read."""
    path = tmp_path_factory.mktemp("heads") / "head"
    handles = [HeadMemory(path) for _ in range(3)]
    for number, (size, which) in enumerate(steps):
        handles[which].advance(size, leaf(size))
        largest = max(size for size, _ in steps[: number + 1])
        assert HeadMemory(path).read() == Head(largest, leaf(largest))
    for handle in handles:
        handle.close()


def test_another_hash_at_the_same_size_is_a_fork(tmp_path: Path) -> None:
    """The same head may be told again; another of the same size is wrong."""
    with HeadMemory(tmp_path / "head") as memory:
        memory.advance(5, leaf(5))
        memory.advance(5, leaf(5))
        with pytest.raises(WrongError, match="forked") as caught:
            memory.advance(5, leaf(6))
        assert caught.value.seq == 4
        assert memory.read() == Head(5, leaf(5))


@pytest.mark.parametrize("size", [2, 3])
def test_every_torn_write_leaves_the_head_before(tmp_path: Path, size: int) -> None:
    """A write cut off after any byte leaves the old head or the new, and goes on."""
    path = tmp_path / "head"
    with HeadMemory(path) as memory:
        for earlier in range(1, size):
            memory.advance(earlier, leaf(earlier))
        before = path.read_bytes()
        memory.advance(size, leaf(size))
        after = path.read_bytes()
    start = size % 2 * 64
    for cut in range(start, start + 65):
        path.write_bytes((after[:cut] + before[cut:])[: max(cut, len(before))])
        expected = size if cut == start + 64 else size - 1
        # Old bytes may by chance be the new ones: then less was torn than written.
        if path.read_bytes() == after:
            expected = size
        assert HeadMemory(path).read() == Head(expected, leaf(expected)), cut
        with HeadMemory(path) as memory:
            memory.advance(9, leaf(9))
        assert HeadMemory(path).read() == Head(9, leaf(9))


def test_two_bad_slots_are_damage(tmp_path: Path) -> None:
    """A memory of which neither slot is whole cannot tell, and says which file."""
    path = tmp_path / "head"
    with HeadMemory(path) as memory:
        memory.advance(1, leaf(1))
    data = bytearray(path.read_bytes())
    for position in range(64, 128):
        data[position] ^= 1
        path.write_bytes(data)
        with pytest.raises(CannotTellError, match=f"{path}: neither slot"):
            HeadMemory(path).read()
        with HeadMemory(path) as memory, pytest.raises(CannotTellError):
            memory.advance(2, leaf(2))
        assert path.read_bytes() == data
        data[position] ^= 1


def test_values_that_are_no_head(tmp_path: Path) -> None:
    """No events, or a hash of another length, is not a head."""
    memory = HeadMemory(tmp_path / "head")
    for size, digest in ((0, leaf(0)), (1, b""), (1, leaf(1) + b"\0")):
        with pytest.raises(UsageError, match="32-byte"):
            memory.advance(size, digest)
    assert not memory.path.exists()


def test_a_memory_without_a_place(tmp_path: Path) -> None:
    """A directory that is missing, or in the way, is told in one line."""
    with pytest.raises(CannotTellError, match="cannot write the head memory"):
        HeadMemory(tmp_path / "none" / "head").advance(1, leaf(1))
    with pytest.raises(CannotTellError, match="cannot read the head memory"):
        HeadMemory(tmp_path).read()


def test_threads_share_one_handle(tmp_path: Path) -> None:
    """Eight threads through one handle end at the largest size."""
    with HeadMemory(tmp_path / "head") as memory:

        def work(first: int) -> None:
            for size in range(first, 4000, 8):
                memory.advance(size, leaf(size))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.read() == Head(3999, leaf(3999))


FORKED = """
import hashlib, os, sys
from pathlib import Path
from muniment.trust.head_memory import HeadMemory
leaf = lambda size: hashlib.sha256(size.to_bytes(8, "big")).digest()
memory = HeadMemory(Path(sys.argv[1]))
memory.advance(1, leaf(1))
inode = os.fstat(memory._file.fileno()).st_ino
memory._guard.acquire()  # as if another thread were inside while this one forks
child = os.fork()
if child == 0:
    for size in range(2, 2000, 2):
        memory.advance(size, leaf(size))
    os._exit(0)
memory._guard.release()
for size in range(3, 2000, 2):
    memory.advance(size, leaf(size))
sys.exit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_goes_on_by_itself(tmp_path: Path) -> None:
    """After a fork both sides advance, even if a lock was held while forking."""
    path = tmp_path / "head"
    subprocess.run([sys.executable, "-c", FORKED, str(path)], check=True, timeout=300)
    assert HeadMemory(path).read() == Head(1999, leaf(1999))


WRITER = """
import hashlib, os, sys
from pathlib import Path
from muniment.trust.head_memory import HeadMemory
memory = HeadMemory(Path(sys.argv[1]))
size = int(sys.argv[2])
while True:
    memory.advance(size, hashlib.sha256(size.to_bytes(8, "big")).digest())
    os.write(1, size.to_bytes(8, "big"))
    size += 2
"""


def test_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Two writers killed at any point: the head is one of theirs, and never behind."""
    path, chance, start = tmp_path / "head", random.Random(4), 1  # noqa: S311 - a test
    for _ in range(16):
        acknowledged = [tmp_path / f"acknowledged-{parity}" for parity in (0, 1)]
        writers: list[subprocess.Popen[bytes]] = []
        for parity, file in enumerate(acknowledged):
            command = [sys.executable, "-c", WRITER, str(path), str(start + parity)]
            with file.open("wb") as output:
                writers.append(subprocess.Popen(command, stdout=output))
        enough = 8 * chance.randrange(40, 400)
        while not all(file.stat().st_size >= enough for file in acknowledged):
            time.sleep(0.001)
        for writer in writers:
            writer.kill()
        for writer in writers:
            assert writer.wait() == -9
        last = 0
        for file in acknowledged:
            data = file.read_bytes()
            last = max(last, int.from_bytes(data[-8:], "big"))
        head = HeadMemory(path).read()
        assert head is not None
        assert head.hash == leaf(head.size)
        assert last <= head.size <= last + 2
        start = head.size + 1
    assert start > 1000


def test_the_sample_in_the_specification(tmp_path: Path) -> None:
    """The bytes that the specification shows read as what it says of them."""
    page = Path(__file__).parents[3] / "docs" / "spec" / "trust-home.md"
    rows = re.findall(
        r"^000000\d0: ((?:[0-9a-f]{4} ){8})", page.read_text(), re.MULTILINE
    )
    path = tmp_path / "head"
    path.write_bytes(bytes.fromhex("".join(rows)))
    last = hashlib.sha256(b"event 11").digest()
    assert HeadMemory(path).read() == Head(12, last)


def test_nobody_moves_the_head_beside_the_lock(tmp_path: Path) -> None:
    """While another process holds the lock, a writer waits, and then goes by its head."""
    path = tmp_path / "head"
    with HeadMemory(path) as memory, path.open("wb") as other:
        lock_file(other.fileno())
        waiting = threading.Thread(target=memory.advance, args=(1, leaf(1)))
        waiting.start()
        waiting.join(0.1)
        assert waiting.is_alive()
        assert path.read_bytes() == b""
        unlock_file(other.fileno())
        waiting.join(60)
        assert memory.read() == Head(1, leaf(1))

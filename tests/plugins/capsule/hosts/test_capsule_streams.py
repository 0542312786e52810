"""Waiting for several pipes, where the system can and where threads have to."""

from __future__ import annotations

import os
import threading

import pytest

from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule.parent import supervisor
from muniment_plugins.capsule.parent.streams import Selecting, Streams, Threaded


@pytest.fixture(params=[Selecting, Threaded])
def streams(request: pytest.FixtureRequest) -> Streams:
    """Give both ways to wait."""
    made: Streams = request.param()
    return made


def test_bytes_come_in_order_and_end(streams: Streams) -> None:
    """Everything that was written arrives, and the end after it."""
    readable, writable = os.pipe()
    expected = bytes(range(256)) * 4096
    found = bytearray()

    def ready(descriptor: int) -> None:
        part = streams.read(descriptor)
        assert part is not None
        found.extend(part)
        if not part:
            streams.forget(descriptor)

    def write() -> None:
        left = memoryview(expected)
        while left:
            left = left[os.write(writable, left) :]
        os.close(writable)

    threading.Thread(target=write).start()
    streams.await_reading(readable, ready)
    while streams.awaits(readable):
        streams.wait(5)
    streams.close()
    os.close(readable)
    assert found == expected


def test_bytes_go_in_order(streams: Streams) -> None:
    """A reader that takes its time gets everything, in the order it was said."""
    readable, writable = os.pipe()
    expected = bytes(range(256)) * 65536
    left = memoryview(expected)
    found = bytearray()

    def read() -> None:
        while part := os.read(readable, 1 << 16):
            found.extend(part)

    def ready(descriptor: int) -> None:
        nonlocal left
        left = left[streams.write(descriptor, left) :]
        if not left:
            streams.forget(descriptor)

    reader = threading.Thread(target=read)
    reader.start()
    streams.await_writing(writable, ready)
    while streams.awaits(writable):
        streams.wait(5)
    streams.close()
    os.close(writable)
    reader.join()
    os.close(readable)
    assert found == expected


def test_waiting_has_an_end(streams: Streams) -> None:
    """Where nothing comes, waiting returns; what is left later is found."""
    readable, writable = os.pipe()
    streams.await_reading(readable, lambda _: pytest.fail("nothing was written"))
    streams.wait(0.01)
    streams.forget(readable)
    os.write(writable, b"left")
    os.close(writable)
    assert b"".join(streams.rest(readable)) == b"left"
    streams.close()
    os.close(readable)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return {'n': len(data)}", "ok"),
        ("print('x' * 3_000_000)\n    return {'n': len(data)}", "ok"),
        ("return {'n': 'x' * 900_000}", "ok"),
        ("while True: pass", "timeout"),
        ("x = [0] * 10**9", "limit"),
    ],
)
def test_the_capsule_runs_on_threads(
    body: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large data, output and results pass where pipes cannot be waited for."""
    monkeypatch.setattr(supervisor, "opened", Threaded)
    code = f"def fit_and_eval(data):\n    {body}\n"
    execution = Capsule(Policy(time_s=1, max_output=100)).run(code, "ä" * 2_000_000)
    assert execution.status == status, execution.error
    assert len(execution.stdout) in (0, 100)

"""A replay touches nothing, and finds out who tried."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.replays.guards import guarded
from muniment.replays.replay import replay
from muniment.runs.run import Run

Deed = Callable[[Path], object]


def _connect(_: Path) -> None:
    with socket.socket() as one:
        one.connect(("127.0.0.1", 9))


def _bind(_: Path) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))


def _send(_: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("127.0.0.1", 9))


def _fork(_: Path) -> None:
    if os.fork() == 0:
        os._exit(0)


def _open_database(place: Path) -> None:
    sqlite3.connect(place / "other.db").close()


async def _open_connection() -> None:
    await asyncio.open_connection("127.0.0.1", 9)


DEEDS: dict[str, tuple[str, Deed]] = {
    "connect": ("sockets", _connect),
    "bind": ("sockets", _bind),
    "sendto": ("sockets", _send),
    "getaddrinfo": ("sockets", lambda _: socket.getaddrinfo("localhost", 80)),
    "asyncio": ("sockets", lambda _: asyncio.run(_open_connection())),
    "run": (
        "subprocesses",
        lambda _: subprocess.run([sys.executable, "-V"], check=True),
    ),
    "system": ("subprocesses", lambda _: os.system("true")),  # noqa: S605
    "fork": ("subprocesses", _fork),
    "spawn": ("subprocesses", lambda _: os.posix_spawn("/bin/true", ["true"], {})),
    "write": ("file writes", lambda place: (place / "f").write_text("x")),
    "append": ("file writes", lambda place: (place / "kept").open("a").close()),
    "os.open": ("file writes", lambda p: os.close(os.open(p / "f", os.O_CREAT))),
    "remove": ("file writes", lambda place: (place / "kept").unlink()),
    "rename": ("file writes", lambda place: (place / "kept").rename(place / "f")),
    "mkdir": ("file writes", lambda place: (place / "d").mkdir()),
    "rmtree": ("file writes", lambda place: shutil.rmtree(place / "dir")),
    "link": ("file writes", lambda place: (place / "f").symlink_to(place / "kept")),
    "chmod": ("file writes", lambda place: (place / "kept").chmod(0o600)),
    "sqlite": ("file writes", _open_database),
}


@pytest.mark.parametrize("swallowed", [False, True])
@pytest.mark.parametrize("name", DEEDS)
def test_a_deed_is_stopped_and_found(
    ledger: Ledger, tmp_path: Path, name: str, *, swallowed: bool
) -> None:
    """Each deed is stopped, and found out also where the program swallows that."""
    guard, deed = DEEDS[name]
    place = tmp_path / "place"
    (place / "dir").mkdir(parents=True)
    (place / "kept").write_text("as it was")
    before = sorted(place.rglob("*"))
    done = ledger.execute(lambda _: "same")

    def program(_: Run) -> object:
        try:
            deed(place)
        except RefusedError:
            if not swallowed:
                raise
        return "same"

    report = replay(ledger, done.run_id, program)
    assert report.verdict == "unacceptable"
    assert report.first_divergence is not None
    assert (report.first_divergence.what, report.first_divergence.field) == (
        "guard",
        guard,
    )
    assert sorted(place.rglob("*")) == before
    assert (place / "kept").read_text() == "as it was"


def test_a_thread_is_guarded(ledger: Ledger, tmp_path: Path) -> None:
    """A thread that the program starts is guarded as the program is."""
    done = ledger.execute(lambda _: "same")

    def work() -> None:
        with pytest.raises(RefusedError, match="a replay has no file writes"):
            (tmp_path / "f").write_text("x")

    def program(_: Run) -> object:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return "same"

    report = replay(ledger, done.run_id, program)
    assert [one.what for one in report.findings] == ["guard"]
    assert not (tmp_path / "f").exists()


def test_reading_and_computing_are_permitted(ledger: Ledger, tmp_path: Path) -> None:
    """A program may read, import, compute, print, and throw things away."""
    (tmp_path / "f").write_text("x")

    def program(_: Run) -> object:
        import colorsys  # noqa: F401, PLC0415 - some module that nobody loaded

        with Path(os.devnull).open("w") as sink:
            print("thrown away", file=sink)
        sqlite3.connect(":memory:").close()
        return [(tmp_path / "f").read_text(), sum(range(10))]

    done = ledger.execute(program)
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_reproducible_effect_may_act(ledger: Ledger, tmp_path: Path) -> None:
    """What is performed again may use a subprocess; the program around it may not."""

    def perform(_: object) -> object:
        (tmp_path / "scratch").write_text("x")
        command = [sys.executable, "-c", "print(42)"]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def program(run: Run) -> object:
        return run.effect("execution", {"n": 1}, perform)

    def greedy(run: Run) -> object:
        value = program(run)
        (tmp_path / "more").touch()
        return value

    done = ledger.execute(program)
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    report = replay(ledger, done.run_id, greedy)
    assert [one.what for one in report.findings] == ["guard"]


def test_the_guard_ends_with_the_replay(tmp_path: Path) -> None:
    """After a replay, and after one that failed, the process may write again."""
    with guarded(), pytest.raises(RefusedError, match="file writes"):
        (tmp_path / "f").touch()
    with pytest.raises(ZeroDivisionError), guarded():
        _ = 1 // 0
    (tmp_path / "f").touch()
    assert (tmp_path / "f").exists()


def test_a_live_run_is_not_guarded(ledger: Ledger, tmp_path: Path) -> None:
    """Guards are a replay's; live code is free."""
    replay(ledger, ledger.execute(lambda _: 1).run_id, lambda _: 1)
    done = ledger.execute(lambda _: (tmp_path / "f").write_text("x"))
    assert done.result == 1

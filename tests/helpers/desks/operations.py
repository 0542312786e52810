"""Operations by which a program reaches outside of itself, each as a function that fails.

    python operations.py control|guard|layers PLACE     →  {"open for writing": "passed", …}

Rules:

- Each takes the places of one `World`, does one thing, and raises where it was not done.
- *control* does all of them freely, which shows that they work; *guard* in the process
  that a `muniment.replay` watches; *layers* behind those of `muniment replay`, without
  the guard.
- What was opened before was opened before the guard. Behind the layers a program has no
  before: its process begins there.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import operations_inside
import operations_outside
from operation_world import BEFORE, OPERATIONS, World, nothing

__all__ = ["LACKING", "OPERATIONS", "outcomes"]

REGISTERED = (operations_inside, operations_outside)
"""The modules that keep their operations where they are found, by being imported."""

_LAYERED = (
    "import json; from muniment_plugins.capsule.isolation.confinement import confine; "
    "stated = confine(json.loads(sys.argv[2])); import operations; "
    "operations.main('layers', operations.Path(sys.argv[1]), stated)"
)
LACKING = "layers that this machine lacks"

# -- the driver -------------------------------------------------------------------------


class _Driven(World):
    def before(self, name: str) -> Any:
        """Return what was opened before the program began, or open it now."""
        if name not in BEFORE:
            BEFORE[name] = self.open_before(name)
        return BEFORE[name]

    def open_before(self, name: str) -> Any:
        if name == "file":
            return os.open(self.place / "opened", os.O_RDWR | os.O_CREAT, 0o600)
        if name == "socket":
            return socket.create_connection(("127.0.0.1", self.port))
        pool = ThreadPoolExecutor(1)
        pool.submit(nothing).result()
        return pool


def _tried(world: World, name: str) -> str:
    try:
        OPERATIONS[name][1](world)
    except BaseException as error:  # noqa: BLE001 - each is an outcome
        return type(error).__name__
    return "passed"


def _guarded(world: _Driven) -> dict[str, str]:
    from muniment.replays.guards import guarded  # noqa: PLC0415 - this mode alone

    for name in ("file", "socket", "pool"):
        world.before(name)
    found: dict[str, str] = {}
    for number, name in enumerate(OPERATIONS):
        world.number = number
        with guarded() as guard:
            outcome = _tried(world, name)
        found[name] = "caught" if guard.attempts else outcome
    return found


def _layered(world: _Driven, stated: dict[str, dict[str, object]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, name in enumerate(OPERATIONS):
        world.number = number
        found[name] = _tried(world, name)
    lacking = sorted(n for n, one in stated.items() if "missing" in one)
    return {**found, LACKING: ", ".join(lacking)}


def _command(mode: str, place: Path) -> list[str]:
    if mode != "layers":
        return [sys.executable, __file__, mode, str(place)]
    from muniment_plugins.capsule.isolation.confinement import plan  # noqa: PLC0415 - this mode alone
    from muniment_plugins.capsule.isolation.readable_paths import (  # noqa: PLC0415 - the same
        interpreter,
        readable,
    )

    scratch, here = place / "scratch", str(Path(__file__).parent)
    scratch.mkdir()
    given = [*interpreter(), here, str(place / "port")]
    places = readable(given, [str(place / "ledger.db")], [str(place / "home")])
    raised = json.dumps(plan(places, str(scratch)))
    # The layers first: what is imported then may start threads.
    code = f"import sys; sys.path.insert(0, {here!r}); {_LAYERED}"
    return [sys.executable, "-c", code, str(place), raised]


def outcomes(mode: str, place: Path) -> dict[str, str]:
    """Try all operations in a process of its own, with somebody listening in this one."""
    (place / "desk").mkdir(parents=True, exist_ok=True)
    world = World(place)
    world.prepare()
    for number, (needs, _) in enumerate(OPERATIONS.values()):
        path = place / "desk" / str(number)
        if needs == "file":
            path.write_text("as it was")
        elif needs == "folder":
            path.mkdir()
    with _listening(place):
        done = subprocess.run(
            _command(mode, place),
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


class _listening:  # noqa: N801 - reads as the function that it is
    """Answers connections of every kind, in threads."""

    def __init__(self, place: Path) -> None:
        self.sockets = [socket.create_server(("127.0.0.1", 0))]
        port = self.sockets[0].getsockname()[1]
        (place / "port").write_text(str(port))
        for address in (str(place / "u"), f"\0{port}-muniment-test"):
            self.sockets.append(socket.socket(socket.AF_UNIX))
            self.sockets[-1].bind(address)
            self.sockets[-1].listen()
        self.datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagrams.bind(str(place / "d"))

    def __enter__(self) -> None:
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        with suppress(OSError):
            while True:
                one, _ = self.sockets[0].accept()
                threading.Thread(target=self._say, args=(one,), daemon=True).start()

    @staticmethod
    def _say(one: socket.socket) -> None:
        with suppress(OSError), one:
            one.recv(1 << 16)
            one.sendall(b"HTTP/1.0 200 OK\r\n\r\n")

    def __exit__(self, *_: object) -> None:
        for one in (*self.sockets, self.datagrams):
            one.close()


def main(
    mode: str, place: Path, stated: dict[str, dict[str, object]] | None = None
) -> None:
    """Try all operations here, and print what became of each."""
    world = _Driven(place)
    out = os.dup(1)
    os.dup2(2, 1)
    if mode == "guard":
        found = _guarded(world)
    elif mode == "layers":
        found = _layered(world, stated or {})
    else:
        found = {}
        for number, name in enumerate(OPERATIONS):
            world.number = number
            found[name] = _tried(world, name)
    os.write(out, json.dumps(found).encode())
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

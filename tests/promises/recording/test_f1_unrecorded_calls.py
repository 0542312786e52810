"""What goes past the recording is named, in the record and at the end.

Every way out of a program that no hook records, and every way to start a program that
is not recorded, is tried: each is named by the terminal and by ``recording.bypassed``,
and a replay that has nothing to compare says that it cannot tell.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from recording import PYTHON, Desk

HEAD = """
import http.client, os, socket, subprocess, sys
from urllib.parse import urlsplit
HOST, PORT = urlsplit(os.environ["BASE"]).hostname, urlsplit(os.environ["BASE"]).port
"""

CONNECTIONS = {
    "http.client": """
        conn = http.client.HTTPConnection(HOST, PORT)
        conn.request("GET", "/echo")
        print(conn.getresponse().status)
    """,
    "socket": "socket.create_connection((HOST, PORT)).close()",
    "connect_ex": "socket.socket().connect_ex((HOST, PORT))",
    "datagram": """
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (HOST, PORT))
    """,
    "asyncio": """
        import asyncio
        async def main():
            _, writer = await asyncio.open_connection(HOST, PORT)
            writer.close()
        asyncio.run(main())
    """,
    "websocket": """
        from websockets.sync.client import connect
        try:
            connect(f"ws://{HOST}:{PORT}/")
        except Exception as error:
            print("no websocket")
    """,
    "thread": """
        import threading
        ask = lambda: socket.create_connection((HOST, PORT)).close()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    """,
    "fork": """
        pid = os.fork()
        if not pid:
            socket.create_connection((HOST, PORT)).close()
            os._exit(0)
        os.waitpid(pid, 0)
    """,
    "recorded child": """
        text = "import socket; socket.create_connection((%r, %r))" % (HOST, PORT)
        subprocess.run([sys.executable, "-c", text])
    """,
}

KEPT = """
UPGRADE = {"Upgrade": "h2c", "Connection": "Upgrade"}
URL = os.environ["BASE"] + "/echo"
"""

KEPT_OPEN = {
    "urllib3": """
        import urllib3
        manager = urllib3.PoolManager()
        for headers in ({}, UPGRADE):
            print(manager.request("GET", URL, headers=headers).status)
    """,
    "urllib3's pool": """
        import urllib3
        pool = urllib3.connection_from_url(URL, headers=UPGRADE)
        for headers in ({"X": "1"}, None):
            print(pool.urlopen("GET", "/echo", headers=headers).status)
    """,
    "requests": """
        import requests
        session = requests.Session()
        for headers in ({}, UPGRADE):
            print(session.get(URL, headers=headers).status_code)
    """,
    "aiohttp": """
        import aiohttp, asyncio
        async def main():
            async with aiohttp.ClientSession() as session:
                for headers in ({}, UPGRADE):
                    async with session.get(URL, headers=headers) as answer:
                        print(answer.status, len(await answer.read()) > 9)
        asyncio.run(main())
    """,
    "aiohttp's websocket": """
        import aiohttp, asyncio
        async def main():
            async with aiohttp.ClientSession() as session:
                async with session.get(URL) as answer:
                    print(await answer.read())
                try:
                    await session.ws_connect(URL)
                except aiohttp.WSServerHandshakeError:
                    print("no websocket")
        asyncio.run(main())
    """,
}
"""What asks for another protocol over a connection that a recorded call left open."""

CHILDREN = {
    "curl": 'subprocess.run(["curl", "-s", os.environ["BASE"] + "/echo"])',
    "shell": 'subprocess.run("curl -s $BASE/echo; true", shell=True)',
    "system": 'os.system("curl -s $BASE/echo")',
    "popen": 'print(len(os.popen("curl -s $BASE/echo").read()) > 9)',
    "posix_spawn": """
        path = subprocess.os.path.realpath("/bin/sh")
        pid = os.posix_spawn(path, ["sh", "-c", "true"], os.environ)
        os.waitpid(pid, 0)
    """,
    "spawnv": 'os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", "true"])',
    "exec": 'os.execv("/bin/sh", ["sh", "-c", "curl -s $BASE/echo"])',
    "spawnv_passfds": """
        from multiprocessing import util
        os.waitpid(util.spawnv_passfds(b"/bin/sh", [b"sh", b"-c", b"true"], ()), 0)
    """,
    "set_executable": """
        import multiprocessing
        with open("tool", "w") as file:
            file.write(f'#!/bin/sh\\nexec {sys.executable} "$@"\\n')
        os.chmod("tool", 0o755)
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            context.set_executable(os.path.abspath("tool"))
            child = context.Process(target=abs, args=(1,))
            child.start()
            child.join()
    """,
    "ended as it starts": """
        import multiprocessing
        if __name__ == "__main__":
            multiprocessing.get_context("spawn").Pool(1).terminate()
    """,
    "isolated": 'subprocess.run([sys.executable, "-I", "-c", "print(1)"])',
    "no environment": 'subprocess.run([sys.executable, "-c", "print(1)"], env={})',
    "asyncio": """
        import asyncio
        async def main():
            child = await asyncio.create_subprocess_exec("true")
            await child.wait()
        asyncio.run(main())
    """,
}

RECORDED = {
    "itself": "print(1)",
    "subprocess": 'subprocess.run([sys.executable, "-c", "print(1)"])',
    "env": 'subprocess.run(["env", "A=1", sys.executable, "-c", "print(1)"])',
    "exec": 'os.execv(sys.executable, [sys.executable, "-c", "print(1)"])',
    "script": """
        with open("tool", "w") as file:
            file.write(f"#!{sys.executable}\\nprint(1)\\n")
        os.chmod("tool", 0o755)
        subprocess.run(["./tool"])
    """,
    "nothing there": """
        try:
            subprocess.run(["no-such-program"])
        except OSError:
            print("none")
    """,
    "the machine": 'subprocess.run(["uname", "-p"]); import platform; platform.uname()',
    "pool": """
        import multiprocessing
        if __name__ == "__main__":
            for how in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(how).Pool(2) as pool:
                    print(pool.map(abs, [-1, -2]))
                    pool.close()
                    pool.join()
    """,
    "own socket": """
        server = socket.socket(socket.AF_UNIX)
        server.bind("own")
        server.listen()
        socket.socket(socket.AF_UNIX).connect("own")
    """,
    "own abstract socket": """
        server = socket.socket(socket.AF_UNIX)
        server.bind("\\0" + f"own-{os.getpid()}")
        server.listen()
        socket.socket(socket.AF_UNIX).connect(server.getsockname())
    """,
    "spawned and tracked": """
        import multiprocessing
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            lock = context.Lock()
            child = context.Process(target=abs, args=(1,))
            child.start()
            child.join()
    """,
}


def the_fact(desk: Desk, run: str) -> dict[str, list[object]]:
    """Return what the record says that went past it."""
    (fact,) = desk.data(run, "recording.bypassed")
    return fact


def the_programs(desk: Desk, run: str) -> list[Any]:
    """Return the command lines that went past the record."""
    return the_fact(desk, run)["programs"]


def verdict(desk: Desk, run: str) -> tuple[int, str]:
    """Return exit code and rule of the refusal of a replay."""
    again = desk.replay(run, PYTHON, "agent.py")
    return again.code, "replay/unrecorded" if "replay/unrecorded" in again.err else ""


@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_connection_past_the_hooks_is_named(desk: Desk, name: str) -> None:
    """Record, terminal and replay say that something was not recorded."""
    desk.write("agent.py", HEAD + dedent(CONNECTIONS[name]))
    done = desk.record(PYTHON, "agent.py")
    place = desk.server.url.removeprefix("http://")
    assert done.code == 0, done.err
    assert f"warning: not recorded: the program connected to {place}" in done.err
    assert the_fact(desk, done.run)["connections"] == [place]
    if name == "http.client":
        assert verdict(desk, done.run) == (3, "replay/unrecorded")
    assert desk.holds


@pytest.mark.parametrize("name", KEPT_OPEN)
def test_an_upgrade_over_an_open_connection_is_named(desk: Desk, name: str) -> None:
    """Nobody connects anew, and the call is named as a connection all the same."""
    desk.write("agent.py", HEAD + KEPT + dedent(KEPT_OPEN[name]))
    done = desk.record(PYTHON, "agent.py")
    place = desk.server.url.removeprefix("http://")
    assert done.code == 0, done.err
    assert f"warning: not recorded: the program connected to {place}" in done.err
    assert the_fact(desk, done.run)["connections"] == [place]
    assert desk.facts(done.run).effects == {"http": 1}
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert json.loads(again.out)["verdict"] == "unacceptable"
    assert desk.holds


@pytest.mark.parametrize("name", CHILDREN)
def test_a_child_that_is_not_recorded_is_named(desk: Desk, name: str) -> None:
    """Whatever starts it, and in whatever language it is written."""
    desk.write("agent.py", HEAD + dedent(CHILDREN[name]))
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done.err
    assert "warning: not recorded: the program started `" in done.err
    assert len({one[0] for one in the_programs(desk, done.run)}) == 1
    if name == "curl":
        assert verdict(desk, done.run) == (3, "replay/unrecorded")
    assert desk.holds


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_recorded_is_not_named(desk: Desk, name: str) -> None:
    """A pure program, whatever Pythons it starts, replays as acceptable."""
    desk.write("agent.py", HEAD + dedent(RECORDED[name]))
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done.err
    assert "warning" not in done.err
    assert desk.data(done.run, "recording.bypassed") == []
    (desk.place / "own").unlink(missing_ok=True)
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert json.loads(again.out)["verdict"] == "acceptable", again.err


@pytest.mark.parametrize("language", ["sh", "curl", "node"])
def test_a_program_of_another_language_is_named(desk: Desk, language: str) -> None:
    """The command of the recording counts as what it starts does."""
    if shutil.which(language) is None:
        pytest.skip(f"{language} is not on this machine")
    text = {
        "sh": ["-c", "curl -s $BASE/echo"],
        "curl": ["-s", f"{desk.server.url}/echo"],
        "node": ["-e", f"fetch('{desk.server.url}/echo')"],
    }
    done = desk.record(language, *text[language])
    assert (done.code, len(desk.server.calls)) == (0, 1)
    assert f"warning: not recorded: the program started `{language} " in done.err
    assert the_fact(desk, done.run)["programs"] == [[language, *text[language]]]
    assert desk.replay(done.run, language, *text[language]).code == 3


def test_a_service_of_the_machine_is_named(desk: Desk, tmp_path: Path) -> None:
    """A socket that was there before the program is somebody else's."""
    place = tmp_path / "service"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(place))
        service.listen()
        text = f"import socket; socket.socket(socket.AF_UNIX).connect({str(place)!r})"
        done = desk.record(PYTHON, "-c", text)
    assert the_fact(desk, done.run)["connections"] == [str(place)]


@pytest.mark.skipif(sys.platform != "linux", reason="abstract names are of Linux")
def test_a_service_without_a_file_is_named(desk: Desk, tmp_path: Path) -> None:
    """An abstract socket that the program did not make is somebody else's."""
    name = f"muniment-{tmp_path.name}-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(f"\0{name}")
        service.listen()
        text = (
            f"import socket; socket.socket(socket.AF_UNIX).connect({chr(0) + name!r})"
        )
        done = desk.record(PYTHON, "-c", text)
    assert the_fact(desk, done.run)["connections"] == [f"@{name}"]
    assert f"connected to @{name}" in done.err


def test_beside_calls_that_match_it_is_a_warning(desk: Desk) -> None:
    """A replay that compared calls accepts them, and says what it could not see."""
    text = 'import requests; requests.get(os.environ["BASE"] + "/echo")\n'
    desk.write("agent.py", HEAD + text + CHILDREN["curl"])
    done = desk.record(PYTHON, "agent.py")
    assert "run " in done.err
    assert "completed, 1 http" in done.err
    report = json.loads(desk.replay(done.run, PYTHON, "agent.py").out)
    assert report["verdict"] == "acceptable_with_warnings"
    assert [one["what"] for one in report["findings"]] == ["unrecorded"]
    assert report["first_divergence"] is None


def test_a_failed_program_is_not_accepted_either(desk: Desk) -> None:
    """Whatever its exit code, and however it changed since."""
    desk.write("agent.py", HEAD + CHILDREN["curl"] + "\nsys.exit(3)\n")
    done = desk.record(PYTHON, "agent.py")
    assert (done.code, verdict(desk, done.run)) == (3, (3, "replay/unrecorded"))
    desk.write("agent.py", "print('changed')\n")
    assert verdict(desk, done.run) == (3, "replay/unrecorded")


def test_a_new_call_is_a_difference_all_the_same(desk: Desk) -> None:
    """What the record cannot answer is unacceptable, not merely unknown."""
    desk.write("agent.py", HEAD + CHILDREN["curl"])
    done = desk.record(PYTHON, "agent.py")
    text = 'import requests; requests.get(os.environ["BASE"] + "/echo")\n'
    desk.write("agent.py", HEAD + text)
    assert desk.replay(done.run, PYTHON, "agent.py").code == 1


def test_secrets_of_command_lines_are_not_recorded(desk: Desk) -> None:
    """The command line of a child is written as that of the program is."""
    secret = "sk-" + "a1B2" * 12
    desk.write("agent.py", HEAD + f'subprocess.run(["echo", "--api-key", "{secret}"])')
    done = desk.record(PYTHON, "agent.py")
    assert the_fact(desk, done.run)["programs"] == [["echo", "--api-key", "[redacted]"]]
    assert secret not in done.err
    assert secret.encode() not in desk.bytes_of_ledger()

"""What a recording must not hold, and what a replay must not reach."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.providers.recorder.description import described
from muniment_plugins.providers.recorder.inside.wire import cut, pack
from recording import PYTHON, Desk

CANARIES = ("canary-in-header-1", "canary-in-url-2222", "canary-in-body-333")
SPOKEN = "canary in a prompt"

SECRETIVE = """
import os, sys, httpx, requests
header, url, body = sys.argv[1:]
said = [{"role": "user", "content": "by " + os.environ["D_PASSWORD"] + ", hi"}]
there = os.environ["BASE"] + "/v1/chat/completions?key=" + url
told = {"model": "m-1", "api_key": body, "messages": said}
for post in (requests.post, httpx.post):
    done = post(there, json=told, headers={"Authorization": "Bearer " + header})
    echo = post(os.environ["BASE"] + "/echo?key=" + url, json=told,
                headers={"x-api-key": header})
    print(done.status_code, echo.status_code, echo.json()["headers"]["x-api-key"] == header)
"""


def test_secrets_are_not_in_the_ledger(desk: Desk) -> None:
    """Keys in headers, URLs, bodies, answers and the command line are left out."""
    desk.write("agent.py", SECRETIVE)
    command = (PYTHON, "agent.py", *CANARIES)
    desk.variables |= dict(zip(("A_KEY", "B_TOKEN", "C_SECRET"), CANARIES, strict=True))
    desk.variables["D_PASSWORD"] = SPOKEN
    done = desk.record(*command)
    assert (done.code, done.out) == (0, "200 200 True\n200 200 True\n"), done.err
    shown = [desk.muniment("runs", "show", done.run, "--json").out]
    shown += [desk.muniment("events", "list", "--jsonl").out]
    again = desk.replay(done.run, *command)
    assert again.code == 0, again.out
    everything = desk.bytes_of_ledger().decode("latin-1") + "".join(shown)
    for canary in (SPOKEN, *CANARIES, *(one.encode().hex() for one in CANARIES)):
        assert canary not in everything + done.err + again.out


def test_the_start_of_a_run_says_what_was_started(desk: Desk) -> None:
    """Command, script digest, Python and names of variables; no value of one."""
    desk.write("agent.py", "print(1)\n")
    desk.variables["WHAT_VALUE"] = "value-of-a-variable"
    done = desk.record(PYTHON, "agent.py", "--token", "tell-no-one")
    (started,) = desk.data(done.run, "run.started")
    params = started["params"]
    assert params["command"] == [PYTHON, "agent.py", "--token", "[redacted]"]
    assert params["program"]["file"] == "agent.py"
    assert params["directory"] == desk.place.name
    assert "WHAT_VALUE" in params["variables"]
    assert b"value-of-a-variable" not in desk.bytes_of_ledger()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["x", "--api-key=abc", "b"], ["x", "--api-key=[redacted]", "b"]),
        (["x", "--password", "abc", "b"], ["x", "--password", "[redacted]", "b"]),
        (
            ["x", "https://u:pass12@h/?key=abc"],
            ["x", "https://u:[redacted]@h/?key=[redacted]"],
        ),
        (["x", "sk-0123456789abcdef0123"], ["x", "[redacted]"]),
        (["x", "in-a-variable"], ["x", "[redacted]"]),
    ],
)
def test_command_lines_are_redacted(
    command: list[str], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of secret options and variables, and keys by their shape, are left out."""
    monkeypatch.setenv("SOME_API_KEY", "in-a-variable")
    assert described(command)["command"] == told


def test_the_key_of_the_ledger_is_not_in_the_program(desk: Desk) -> None:
    """The program has the environment without what signs the ledger."""
    text = "import os; print([name for name in os.environ if name == 'MUNIMENT_KEY'])"
    keys = list((desk.place.parent / "home").rglob("writer.pem"))
    desk.variables["MUNIMENT_KEY"] = keys[0].read_text()
    done = desk.record(PYTHON, "-c", text)
    assert (done.code, done.out) == (0, "[]\n"), done.err


def test_a_replay_reaches_no_network(desk: Desk) -> None:
    """What does not go through a recorded library is refused, and found."""
    desk.write(
        "agent.py",
        "import http.client, os, socket\n"
        "wire = http.client.HTTPConnection(os.environ['BASE'].partition('//')[2])\n"
        "try:\n"
        "    if os.path.exists('go'):\n"
        "        wire.request('GET', '/x')\n"
        "except OSError:\n"
        "    print('shut')\n"
        "left, right = socket.socketpair()\n"
        "left.send(b'x')\n"
        "print(right.recv(1))\n",
    )
    done = desk.record(PYTHON, "agent.py")
    assert done.out == "b'x'\n"
    desk.write("go", "")
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert (again.code, again.err) == (1, "shut\nb'x'\n")
    first = json.loads(again.out)["first_divergence"]
    port = desk.server.url.rpartition(":")[2]
    assert (first["what"], first["field"]) == ("guard", "sockets")
    assert port in first["got"]


def test_the_program_finds_itself_as_without_us(desk: Desk) -> None:
    """Its import path is its own, and so is its ``sitecustomize``."""
    ours = desk.place / "own"
    ours.mkdir()
    (ours / "sitecustomize.py").write_text("import sys; sys.own = 'own'\n")
    text = "import sys, sitecustomize; print(sys.own, sys.path, sitecustomize.__file__)"
    desk.variables["PYTHONPATH"] = str(ours)
    bare = subprocess.run(
        [PYTHON, "-c", text], env=desk.environment, capture_output=True, check=True
    ).stdout.decode()
    done = desk.record(PYTHON, "-c", text)
    assert done.out == bare, done.err
    assert done.out.startswith("own [")


def test_a_python_that_cannot_be_recorded_is_told_of(desk: Desk) -> None:
    """A warning says that nothing of an isolated Python is recorded."""
    done = desk.record(PYTHON, "-I", "-c", "print(1)")
    assert done.code == 0
    started = f"warning: not recorded: the program started `{PYTHON} -I"
    shown, _, _ = done.err.partition("…")  # in place of the rest of a long path
    assert started in done.err or started.startswith(shown.splitlines()[-1])
    assert "warning" not in desk.record(PYTHON, "-c", "print(1)").err


@given(st.dictionaries(st.text(), st.text()), st.lists(st.binary()))
def test_frames_come_apart_as_they_were_put_together(
    frame: dict[str, str], parts: list[bytes]
) -> None:
    """What one side packs the other side reads."""
    data = pack(frame, parts)
    size = int.from_bytes(data[:4])
    head = json.loads(data[4 : 4 + size])
    assert head == {**frame, "parts": [len(part) for part in parts]}
    assert cut(head["parts"], data[4 + size :]) == parts

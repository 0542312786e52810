"""Programs and recorders that are stopped in the middle, and what is left of the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from model_server import Trouble
from muniment_plugins.providers.recorder.signals import forwarding
from recorded_programs import PROGRAMS
from recording import MUNIMENT, PYTHON, Desk

if TYPE_CHECKING:
    from asyncio.subprocess import Process

SLOW = """
import os, requests, signal, sys
body = {"model": "m-1", "messages": [{"role": "user", "content": "first"}]}
url = os.environ["BASE"] + "/v1/chat/completions"
print(requests.post(url, json=body).status_code, flush=True)
body["messages"][0]["content"] = "second"
print(requests.post(url, json=body).status_code, flush=True)
"""
"""Makes two calls; the tests stop it while it waits for the second."""

ASKING = """
import sys
def asks(frame, event, called):
    if event == "c_return" and called.__name__ == "sendall":
        sys.setprofile(None)
        print("asked", flush=True)
sys.setprofile(asks)
"""
"""Says when a call is on its way to whoever answers it."""

ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes its stdin the terminal that Ctrl-C comes from, and becomes a command."""


def until(ready: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 300
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def waiting(desk: Desk) -> subprocess.Popen[str]:
    """Start a recording, and wait until its second call is under way."""
    desk.write("agent.py", SLOW)
    desk.server.fail(Trouble(), Trouble(held=True))
    recorder = desk.started("record", "--", PYTHON, "agent.py")
    until(lambda: len(desk.server.calls) == 2)
    return recorder


def program_of(recorder: subprocess.Popen[str]) -> int:
    """Return the id of the process that is recorded."""
    path = f"/proc/{recorder.pid}/task/{recorder.pid}/children"
    with open(path, encoding="ascii") as file:  # noqa: PTH123 - of the kernel
        return int(file.read().split()[0])


def the_run(desk: Desk) -> str:
    """Return the only run."""
    (run,) = json.loads(desk.muniment("runs", "list", "--json").out)
    return str(run["id"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_program_interrupts_its_run(
    desk: Desk, waiting: subprocess.Popen[str], number: signal.Signals
) -> None:
    """The run can be told from a complete one, and a resume asks only what is left."""
    os.kill(program_of(waiting), number)
    out, err = waiting.communicate(timeout=300)
    assert waiting.returncode == 128 + number
    assert out == "200\n"
    run = the_run(desk)
    assert f"run {run}: interrupted" in err
    assert desk.facts(run).status == "interrupted"
    assert desk.replay(run, PYTHON, "agent.py").code == 3
    assert desk.holds
    desk.server.calls.clear()
    resumed = desk.muniment("resume", run, "--json", "--", PYTHON, "agent.py")
    assert resumed.code == 0, resumed.err
    assert json.loads(resumed.out)["result"] == {"exit_code": 0}
    assert resumed.err.startswith("200\n200\n")
    assert [call.body["messages"][0]["content"] for call in desk.server.calls] == [
        "second"
    ]
    assert desk.facts(run).status == "completed"
    assert desk.replay(run, PYTHON, "agent.py").code == 0
    assert desk.holds


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_resume_that_is_killed_says_how_to_go_on(desk: Desk, name: str) -> None:
    """The program may be ended again, and the run can be resumed again."""
    desk.write(
        "agent.py",
        f"import os, signal\nos.kill(os.getpid(), signal.{name})\n",
    )
    line = (PYTHON, "agent.py")
    run = desk.record(*line).run
    resumed = desk.muniment("resume", run, "--", *line)
    assert (resumed.code, resumed.out) == (128 + getattr(signal, name), "")
    assert resumed.err.endswith(
        f"run {run}: interrupted\n"
        f"`muniment resume {run} -- {PYTHON} agent.py` "
        "continues; completed effects are not repeated\n"
    )
    assert "muniment_cli" not in resumed.err
    assert desk.facts(run).status == "interrupted"


def test_a_call_in_doubt_is_not_made_again_unasked(desk: Desk) -> None:
    """A request to no model, cut off, is repeated only where that is said."""
    desk.write(
        "agent.py",
        "import os, requests\n"
        "print(requests.post(os.environ['BASE'] + '/pay', data='1').status_code)\n",
    )
    desk.server.fail(Trouble(held=True))
    recorder = desk.started("record", "--", PYTHON, "agent.py")
    until(lambda: len(desk.server.calls) == 1)
    os.kill(program_of(recorder), signal.SIGKILL)
    recorder.communicate(timeout=300)
    run = the_run(desk)
    refused = desk.muniment("resume", run, "--", PYTHON, "agent.py")
    assert (refused.code, "effect/doubt" in refused.err) == (4, True), refused.err
    assert len(desk.server.calls) == 1
    repeated = desk.muniment(
        "resume", run, "--repeat-doubtful", "http", "--", PYTHON, "agent.py"
    )
    assert (repeated.code, len(desk.server.calls)) == (0, 2), repeated.err
    assert desk.holds


def test_ctrl_c_goes_to_the_program_and_interrupts(
    desk: Desk, waiting: subprocess.Popen[str]
) -> None:
    """Ctrl-C ends program and recorder, and the run says *interrupted*."""
    os.killpg(waiting.pid, signal.SIGINT)
    waiting.communicate(timeout=300)
    assert waiting.returncode == 130
    assert desk.facts(the_run(desk)).status == "interrupted"
    assert desk.holds


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_the_recorder_are_passed_on(
    desk: Desk, waiting: subprocess.Popen[str], number: signal.Signals
) -> None:
    """What only the recorder gets reaches the program, and ends both."""
    os.kill(waiting.pid, number)
    waiting.communicate(timeout=300)
    assert waiting.returncode == 128 + number
    assert desk.facts(the_run(desk)).status == "interrupted"


def test_ctrl_c_of_a_terminal_reaches_the_program_once(desk: Desk) -> None:
    """A program on a terminal is interrupted once, goes on, and can be typed to."""
    desk.write(
        "agent.py",
        "import sys, time\n"
        "try:\n"
        "    print('up', flush=True)\n"
        "    time.sleep(600)\n"
        "except KeyboardInterrupt:\n"
        "    time.sleep(1)\n"
        "    print('hello', input('name? '), sys.stdout.isatty())\n"
        "    sys.exit(5)\n",
    )
    ours, theirs = os.openpty()
    recorder = subprocess.Popen(
        [PYTHON, "-c", ON_TERMINAL, MUNIMENT, "record", "--", PYTHON, "agent.py"],
        cwd=desk.place,
        env=desk.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    for awaited, typed in ((b"up", b"\x03"), (b"name? ", b"ada\n"), (b"run 01", b"")):
        while awaited not in seen:
            seen += os.read(ours, 1000)
        os.write(ours, typed)
    assert recorder.wait(300) == 5
    assert b"hello ada True" in seen
    assert b"Traceback" not in seen
    os.close(ours)


def test_a_recorder_that_was_overtaken_stops_its_program(
    desk: Desk, waiting: subprocess.Popen[str]
) -> None:
    """Who lost the run writes nothing more, and its program gets no more answers."""
    run = the_run(desk)
    refused = desk.muniment("resume", run, "--", PYTHON, "agent.py")
    assert (refused.code, "run/owned" in refused.err) == (4, True)
    taken = desk.muniment("resume", run, "--take-over", "--", PYTHON, "agent.py")
    assert taken.code == 0, taken.err
    desk.server.goes_on.set()
    out, err = waiting.communicate(timeout=300)
    assert (waiting.returncode, out) == (4, "200\n"), err
    assert desk.facts(run).status == "completed"
    assert desk.holds


def test_a_program_may_take_ctrl_c_as_its_end(desk: Desk) -> None:
    """A program that catches Ctrl-C and returns completes its run."""
    desk.write(
        "agent.py",
        "import time\n"
        "try:\n"
        "    print('up', flush=True)\n"
        "    time.sleep(600)\n"
        "except KeyboardInterrupt:\n"
        "    print('bye')\n",
    )
    recorder = desk.started("record", "--", PYTHON, "agent.py")
    assert recorder.stdout is not None
    assert recorder.stdout.readline() == "up\n"
    os.kill(program_of(recorder), signal.SIGINT)
    out, _ = recorder.communicate(timeout=300)
    assert (recorder.returncode, out) == (0, "bye\n")
    assert desk.facts(the_run(desk)).status == "completed"


def test_a_killed_recorder_leaves_an_open_run(
    desk: Desk, waiting: subprocess.Popen[str]
) -> None:
    """Without its recorder the program gets no answer, and the run stays open."""
    program = program_of(waiting)
    waiting.kill()
    desk.server.goes_on.set()
    _, err = waiting.communicate(timeout=300)
    assert "does not record this program any more" in err
    until(lambda: not os.path.exists(f"/proc/{program}"))  # noqa: PTH110 - of the kernel
    run = the_run(desk)
    assert desk.facts(run).status == "open"
    assert desk.holds
    desk.server.calls.clear()
    resumed = desk.muniment("resume", run, "--", PYTHON, "agent.py")
    assert resumed.code == 0, resumed.err
    assert len(desk.server.calls) == 1


def test_a_child_that_is_killed_is_a_cancelled_call(desk: Desk) -> None:
    """Where the program goes on without a child, so does the run, and its replay."""
    desk.write("child.py", ASKING + SLOW.partition("body[")[0])
    desk.write(
        "agent.py",
        "import os, subprocess, sys, time\n"
        "command = [sys.executable, 'child.py']\n"
        "child = subprocess.Popen(command, stdout=subprocess.PIPE)\n"
        "assert child.stdout.readline() == b'asked\\n'\n"
        "while not ('MUNIMENT_OFFLINE' in os.environ or os.path.exists('heard')):\n"
        "    time.sleep(0.01)\n"
        "child.kill()\n"
        "child.communicate()\n"
        "print('too slow')\n",
    )
    desk.server.fail(Trouble(held=True))
    recorder = desk.started("record", "--", PYTHON, "agent.py")
    until(lambda: len(desk.server.calls) == 1)
    desk.write("heard", "")
    out, err = recorder.communicate(timeout=300)
    assert (recorder.returncode, out) == (0, "too slow\n"), err
    run = the_run(desk)
    (failed,) = desk.data(run, "llm.failed")
    assert failed["reason"] == "cancelled"
    again = desk.replay(run, PYTHON, "agent.py")
    assert (again.code, again.err) == (0, "too slow\n"), again.out
    assert desk.holds


def test_a_resume_performs_the_call_again_that_failed_the_program(desk: Desk) -> None:
    """A program that ended by a failed call asks it again, and no other."""
    desk.write(
        "agent.py", PROGRAMS["openai"].replace("OpenAI(", "OpenAI(max_retries=0, ")
    )
    desk.server.fail(Trouble(), Trouble(500))
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 1
    assert "InternalServerError" in done.err
    assert desk.facts(done.run).status == "failed"
    assert desk.replay(done.run, PYTHON, "agent.py").code == 0
    desk.server.calls.clear()
    resumed = desk.muniment("resume", done.run, "--", PYTHON, "agent.py")
    assert resumed.code == 0, resumed.err
    assert len(desk.server.calls) == 1
    assert desk.facts(done.run).status == "completed"


def test_a_signal_is_not_passed_on_where_there_are_no_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On Windows all of a console hear Ctrl-C, and no process can be sent it."""
    for module, name in ((os, "getpgid"), (os, "getpgrp"), (signal, "pthread_sigmask")):
        monkeypatch.delattr(module, name)
    sent: list[int] = []
    process = SimpleNamespace(pid=os.getpid(), send_signal=sent.append)
    with forwarding(cast("Process", process)):
        signal.raise_signal(signal.SIGINT)
    assert sent == []

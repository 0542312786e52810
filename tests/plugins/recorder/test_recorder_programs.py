"""Unchanged programs: recorded as one run, replayed without server and network."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from model_server import ModelServer, Trouble
from muniment.events.effect_kinds import EffectKind
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment_plugins.providers.recorder import RecordedProgram
from muniment_plugins.providers.recorder.description import described
from recorded_programs import CALLS, PROGRAMS
from recording import PYTHON, Desk


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_one_run_that_replays_offline(desk: Desk, name: str) -> None:
    """Every call is an effect, and a replay prints the same without any server."""
    desk.write("agent.py", PROGRAMS[name])
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done.err
    calls = len(desk.server.calls)
    assert desk.facts(done.run).effects == CALLS[name]
    assert sum(CALLS[name].values()) - desk.facts(done.run).failed_effects == calls
    assert desk.facts(done.run).status == "completed"
    desk.server_stops()
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert (again.code, again.err) == (0, done.out), again.out
    report = json.loads(again.out)
    assert (report["verdict"], report["guards"]) == ("acceptable", ["sockets"])
    assert report["compared"] == sum(CALLS[name].values())
    assert len(desk.server.calls) == calls
    assert desk.holds


@pytest.mark.parametrize("name", ["openai", "aiohttp", "requests"])
def test_a_changed_prompt_is_named(desk: Desk, name: str) -> None:
    """A replay of a changed program says which request differs, where and how."""
    desk.write("agent.py", PROGRAMS[name])
    done = desk.record(PYTHON, "agent.py", "one")
    desk.server_stops()
    again = desk.replay(done.run, PYTHON, "agent.py", "other")
    assert again.code == 1
    first = json.loads(again.out)["first_divergence"]
    assert first["field"] == "request.body.json.messages[0].content"
    assert (first["what"], first["expected"], first["got"]) == (
        "effect",
        "one",
        "other",
    )


def test_a_call_that_is_left_out_is_named(desk: Desk) -> None:
    """A replay of a program that asks less says which request is missing."""
    desk.write("agent.py", PROGRAMS["requests"])
    done = desk.record(PYTHON, "agent.py")
    desk.write("agent.py", "print('nothing')\n")
    again = desk.replay(done.run, PYTHON, "agent.py")
    changed = "warning: agent.py is not as it was when it was recorded\n"
    assert again.err == f"{changed}nothing\n"
    first = json.loads(again.out)["first_divergence"]
    assert (again.code, first["what"], first["expected"]) == (
        1,
        "missing",
        "llm.requested",
    )


def test_equal_calls_are_answered_in_their_order(desk: Desk) -> None:
    """The n-th of several equal calls gets the n-th answer."""
    text = (
        "import os, requests\n"
        "for _ in range(3):\n"
        "    answer = requests.get(os.environ['BASE'] + '/echo')\n"
        "    print(answer.headers['x-request-id'])\n"
    )
    desk.write("agent.py", text)
    done = desk.record(PYTHON, "agent.py")
    assert done.out == "req_1\nreq_2\nreq_3\n"
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert (again.code, again.err) == (0, done.out)


def test_headers_that_differ_are_declared(desk: Desk) -> None:
    """A header that is new each time diverges, unless it is declared volatile."""
    text = (
        "import os, requests, uuid\n"
        "head = {'x-trace': uuid.uuid4().hex}\n"
        "print(requests.get(os.environ['BASE'] + '/echo', headers=head).status_code)\n"
    )
    desk.write("agent.py", text)
    done = desk.record(PYTHON, "agent.py")
    again = desk.replay(done.run, PYTHON, "agent.py")
    first = json.loads(again.out)["first_divergence"]
    assert (again.code, first["field"]) == (1, "request.headers.x-trace")
    done = desk.muniment("record", "--volatile", "X-Trace", "--", PYTHON, "agent.py")
    assert desk.replay(done.run, PYTHON, "agent.py").code == 0


def test_a_python_without_muniment_is_recorded(desk: Desk) -> None:
    """The program's interpreter need not know muniment, nor the libraries it lacks."""
    bare = subprocess.run(
        [sys._base_executable, "-c", "import muniment"],  # type: ignore[attr-defined]
        capture_output=True,
        check=False,
        cwd="/",
    )
    assert bare.returncode == 1
    desk.write("agent.py", PROGRAMS["urllib"])
    done = desk.record(sys._base_executable, "agent.py")  # type: ignore[attr-defined]
    assert done.code == 0, done.err
    assert desk.facts(done.run).effects == CALLS["urllib"]


class Refuses:
    """Refuses models at once."""

    @hookimpl
    def before_effect(self, kind: EffectKind) -> str | None:
        """Go by the kind."""
        return "no model today" if kind.name == "llm" else None


class RefusesLater:
    """Refuses models after a while."""

    @hookimpl
    async def before_effect(self, kind: EffectKind) -> str | None:
        """Go by the kind."""
        await asyncio.sleep(0.01)
        return "no model today" if kind.name == "llm" else None


@pytest.mark.parametrize("gate", [Refuses(), RefusesLater()], ids=["now", "later"])
def test_a_plugin_may_refuse_a_call(
    server: ModelServer, tmp_path: Path, gate: object
) -> None:
    """A call that a plugin refuses is not made, and the program sees an error."""
    (tmp_path / "agent.py").write_text(
        PROGRAMS["httpx"].partition("with")[0]
        + "try:\n"
        + "    httpx.post(BASE + '/v1/chat/completions', json={'model': 'm-1'})\n"
        + "except httpx.NetworkError as error:\n"
        + "    sys.exit('no model today' not in str(error))\n"
    )
    command = ("env", f"BASE={server.url}", PYTHON, str(tmp_path / "agent.py"))
    plugins = Plugins(extra={"refuses": gate})
    with Ledger.create(tmp_path / "refusing.db", plugins=plugins) as ledger:
        program = RecordedProgram(command)
        done = asyncio.run(ledger.aexecute(program, params=described(command)))
        assert (done.status, done.result) == ("completed", {"exit_code": 0})
        assert server.calls == []
        report = replay(ledger, done.run_id, program)
    assert (report.verdict, report.guards) == ("acceptable", ("sockets",))


def test_a_program_without_calls_is_a_run(desk: Desk) -> None:
    """A run without effects completes, says so, and replays."""
    done = desk.record(PYTHON, "-c", "print(6 * 7)")
    assert (done.code, done.out) == (0, "42\n")
    assert done.err.endswith("completed, no calls\n")
    assert desk.facts(done.run).effects == {}
    assert desk.replay(done.run, PYTHON, "-c", "print(6 * 7)").code == 0
    assert desk.holds


def test_streams_and_exit_code_are_the_programs(desk: Desk) -> None:
    """What is printed, read and returned goes through untouched."""
    desk.write(
        "agent.py",
        "import sys\n"
        "print(sys.stdin.read().upper(), end='', flush=True)\n"
        "print('aside', file=sys.stderr)\n"
        "sys.exit(7)\n",
    )
    done = desk.record(PYTHON, "agent.py", stdin="word\n")
    assert (done.code, done.out) == (7, "WORD\n")
    assert done.err.splitlines()[0] == "aside"
    assert desk.facts(done.run).status == "failed"
    (failed,) = desk.data(done.run, "run.failed")
    assert failed["message"] == "the program ended with exit code 7"
    again = desk.replay(done.run, PYTHON, "agent.py", stdin="word\n")
    assert again.code == 0, again.out
    assert again.err == "WORD\naside\n"
    other = desk.replay(done.run, PYTHON, "-c", "raise SystemExit(8)")
    assert json.loads(other.out)["first_divergence"]["field"] == "message"
    assert desk.holds


def test_failures_of_the_server_are_recorded(desk: Desk) -> None:
    """Statuses, cut streams and refused connections are answered as they came."""
    text = PROGRAMS["requests"].partition("body = ")[0] + (
        "import httpx\n"
        "body = {'model': 'm-1', 'messages': said(WORD), 'stream': True}\n"
        "url = BASE + '/v1/chat/completions'\n"
        "print(requests.post(url, json=body).status_code)\n"
        "for post in (requests.post, httpx.post):\n"
        "    try:\n"
        "        print(post(url, json=body).text)\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__)\n"
        "for post in (requests.get, httpx.get):\n"
        "    try:\n"
        "        post('http://127.0.0.1:9/')\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__)\n"
    )
    desk.write("agent.py", text)
    desk.server.fail(Trouble(429), Trouble(cut=2), Trouble(cut=2))
    done = desk.record(PYTHON, "agent.py")
    assert done.out.split() == [
        "429",
        "ChunkedEncodingError",
        "RemoteProtocolError",
        "ConnectionError",
        "ConnectError",
    ], done.err
    assert desk.facts(done.run).failed_effects == 5
    desk.server_stops()
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert (again.code, again.err) == (0, done.out)
    assert desk.holds


def test_a_recorded_command_is_not_executed(desk: Desk) -> None:
    """A replay without a command line says how to give it; a plain run takes none."""
    done = desk.record(PYTHON, "-c", "print(1)")
    again = desk.replay(done.run)
    assert again.code == 3
    assert "replay/command" in again.err
    assert f"-- {PYTHON} -c 'print(1)'" in again.err
    desk.write("plain.py", "def main(run):\n    return 1\n")
    ran = desk.muniment("run", "plain.py", "--json")
    plain = json.loads(ran.out)["run"]
    refused = desk.replay(plain, PYTHON, "-c", "print(1)")
    assert (refused.code, "replay/no-command" in refused.err) == (2, True)


def test_a_recorded_command_needs_the_plugin_that_recorded_it(desk: Desk) -> None:
    """Without it, a replay cannot tell, also with the command line, which is advised."""
    command = (PYTHON, "-c", "print(1)")
    done = desk.record(*command)
    desk.variables["MUNIMENT_PLUGINS"] = "none"
    for words in ((), command):
        again = desk.replay(done.run, *words)
        assert (again.code, again.out) == (3, ""), again.err
        assert "stable name muniment:recorded-program/1" in again.err
        assert "`muniment plugins`" in again.err
    told = json.loads(desk.muniment("runs", "explain", done.run, "--json").out)
    said = told["facts"]["to replay"]
    assert f"muniment replay {done.run} -- {PYTHON} -c 'print(1)'" in said
    assert "the plugin active that recorded it" in said
    del desk.variables["MUNIMENT_PLUGINS"]
    assert desk.replay(done.run, *command).code == 0


@pytest.mark.parametrize(
    ("name", "message", "remedy"),
    [
        ("no-such-program", "there is no such command", "give a program"),
        ("./agent.py", "the file is not executable", "`chmod +x ./agent.py`"),
    ],
)
def test_a_command_that_is_none_is_refused(
    desk: Desk, name: str, message: str, remedy: str
) -> None:
    """A command that is not there, or cannot be executed, is not a run and no replay."""
    desk.write("agent.py", "print(1)\n")
    done = desk.record(name)
    refusal = f"error: {name}: {message} [record/command]; {remedy}"
    assert (done.code, refusal in done.err) == (2, True)
    assert "run 01" not in done.err
    run = desk.record(PYTHON, "agent.py").run
    again = desk.replay(run, name)
    assert (again.code, again.out) == (2, "")
    told = json.loads(again.err)["error"]
    assert (told["rule"], told["place"]) == ("record/command", name)
    assert (told["message"], remedy in told["remedy"]) == (message, True)


def test_a_command_that_runs_another_script_is_named(desk: Desk) -> None:
    """A replay tells a script that changed from one that was not given."""
    desk.write("agent.py", "print(1)\n")
    desk.write("other.py", "print(1)\n")
    run = desk.record(PYTHON, "agent.py").run
    ran = "the recorded one ran agent.py"
    for script, told in (
        ("other.py", "other.py"),
        ("none.py", "no script that is there"),
    ):
        warned = desk.replay(run, PYTHON, script).err
        assert f"warning: this command runs {told}, {ran}\n" in warned


def test_advice_repeats_the_command_line(desk: Desk) -> None:
    """What an explanation advises can be given as it stands, command line and all."""
    desk.write("agent.py", "import sys\nsys.exit(len(sys.argv) - 1)\n")
    for arguments, advised in (((), ["replay"]), (("a b",), ["replay"])):
        line = (PYTHON, "agent.py", *arguments)
        run = desk.record(*line).run
        said = desk.muniment("runs", "explain", run, "--json").out
        commands = [shlex.split(one["command"]) for one in json.loads(said)["next"]]
        given = [one[1] for one in commands if one[3:] == ["--", *line]]
        assert given == advised

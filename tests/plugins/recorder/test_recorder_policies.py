"""Unchanged programs under a policy: halted before a call, whatever they make of it."""

from __future__ import annotations

import json
import re

import pytest

from recording import PYTHON, Desk

AGENT = """
import os, sys
from openai import APIError, OpenAI

client = OpenAI(api_key="sk-none", base_url=os.environ["BASE"] + "/v1", max_retries=0)
answered = 0
for number in range(8):
    try:
        client.chat.completions.create(
            model="m-1", messages=[{"role": "user", "content": f"question {number}"}]
        )
    except APIError:
        if "swallow" not in sys.argv:
            raise
    else:
        answered += 1
print("answered", answered)
"""

MANY = """
import os, subprocess, sys

if len(sys.argv) > 1:
    import json, urllib.request
    body = json.dumps({"model": "m-1", "messages": [{"role": "user", "content": sys.argv[1]}]})
    asked = urllib.request.Request(
        os.environ["BASE"] + "/v1/chat/completions",
        body.encode(),
        {"content-type": "application/json"},
    )
    urllib.request.urlopen(asked).read()
else:
    children = [
        subprocess.Popen([sys.executable, __file__, f"question {n}"], stderr=subprocess.DEVNULL)
        for n in range(8)
    ]
    print(sum(one.wait() == 0 for one in children), "of 8 answered")
"""


def policy(desk: Desk, **execution: object) -> None:
    """Write ``policy.json`` with this execution budget."""
    document = {
        "spec_version": "v1",
        "policy_id": "five",
        "execution_budget": execution,
    }
    desk.write("policy.json", json.dumps(document))


@pytest.mark.parametrize("swallow", [False, True])
def test_an_agent_is_halted_before_its_sixth_call(desk: Desk, swallow: bool) -> None:
    """The server counts five calls, the run fails, and the record replays to that."""
    desk.write("agent.py", AGENT)
    policy(desk, effect_limits={"llm": 5})
    told = (PYTHON, "agent.py", *(["swallow"] if swallow else []))
    done = desk.muniment("record", "--policy", "policy.json", "--", *told)
    assert (done.code, len(desk.server.calls)) == (1, 5), done.err
    assert desk.facts(done.run).status == "failed"
    assert ("answered 5" in done.out) is swallow
    (spent,) = desk.data(done.run, "budget.exhausted")
    assert (spent["limit"], spent["action"]) == ("effect_limits.llm", "halt")
    desk.server_stops()
    again = desk.replay(done.run, *told)
    assert json.loads(again.out)["verdict"] == "acceptable", again.err
    resumed = desk.muniment("resume", done.run, "--", *told)
    assert resumed.code == 4
    assert "nobody has amended its policy since" in resumed.err


def test_processes_share_one_budget(desk: Desk) -> None:
    """Of eight processes that one program starts, five are answered."""
    desk.write("many.py", MANY)
    policy(desk, effect_limits={"llm": 5})
    done = desk.muniment("record", "--policy", "policy.json", "--", PYTHON, "many.py")
    assert done.out.strip() == "5 of 8 answered"
    assert (done.code, len(desk.server.calls)) == (1, 5)


def test_a_degraded_agent_gets_what_was_answered_before(desk: Desk) -> None:
    """With ``cached`` as the fallback, a second run of the same agent completes.

    It does so without the calls that it may no longer make.
    """
    desk.write("agent.py", AGENT)
    first = desk.record(PYTHON, "agent.py")
    assert (first.code, len(desk.server.calls)) == (0, 8)
    limit = {"effect_limits": {"llm": 3}, "exhaustion_action": "degrade"}
    policy(desk, **limit, fallback="cached")
    done = desk.muniment("record", "--policy", "policy.json", "--", PYTHON, "agent.py")
    assert (done.code, done.out.strip()) == (0, "answered 8"), done.err
    assert len(desk.server.calls) == 8 + 3
    assert len(desk.data(done.run, "effect.degraded")) == 5


def test_a_mistake_in_the_policy_costs_nothing(desk: Desk) -> None:
    """It is one line with the key path, exit code 2, and nothing was started."""
    desk.write("agent.py", AGENT)
    policy(desk, effect_limits={"llm": -1})
    done = desk.muniment("record", "--policy", "policy.json", "--", PYTHON, "agent.py")
    assert (done.code, desk.server.calls) == (2, [])
    line = r"error: policy.json: execution_budget.effect_limits.llm.*\[policy/.*"
    assert re.fullmatch(line, done.err.strip()), done.err


def test_without_the_plugin_nothing_is_recorded_under_a_policy(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where governance may not load, ``--policy`` cannot tell, and starts nothing."""
    monkeypatch.setenv("MUNIMENT_PLUGINS", "providers")
    desk.write("agent.py", AGENT)
    policy(desk, effect_limits={"llm": 5})
    done = desk.muniment("record", "--policy", "policy.json", "--", PYTHON, "agent.py")
    assert (done.code, desk.server.calls) == (3, [])
    assert "the plugin that governs runs may not load" in done.err


PAST = """
import os, socket
from urllib.parse import urlsplit

place = urlsplit(os.environ["BASE"])
with socket.create_connection((place.hostname, place.port)) as line:
    line.sendall(b"GET /nothing HTTP/1.0\\r\\n\\r\\n")
    line.recv(100)
"""


@pytest.mark.parametrize("governed", [True, False])
def test_calls_past_the_recorder_mark_a_governed_run(
    desk: Desk, governed: bool
) -> None:
    """No budget counts them, so the run can certify nothing; the record says why."""
    desk.write("past.py", PAST)
    policy(desk, effect_limits={"llm": 5})
    under = ["--policy", "policy.json"] if governed else []
    done = desk.muniment("record", *under, "--", PYTHON, "past.py")
    assert done.code == 0, done.err
    marks = desk.data(done.run, "run.marked")
    assert [one["mark"] for one in marks] == ["non_certifiable"] * governed
    if governed:
        assert "went past the recorder" in marks[0]["reason"]

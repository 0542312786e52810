"""Examples that ask a model: as they are, by a script and over both wire formats.

Each runs unchanged as a script of its own, once with the answers that it wrote itself and
once against a server that gives the same ones: as OpenAI's chat completions and Anthropic's
messages, whole and streamed. It prints the same, and its record says the same.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import muniment
from example_runs import EXAMPLES
from muniment import replay, verify
from muniment_plugins.workflow import run_record
from muniment_plugins.workflow.records.record import walks_graph
from scripted_server import Conversation, ScriptedServer

MODELS = ["openai:gpt-4o", "anthropic:claude-3"]
SCRIPTS: dict[str, dict[tuple[str, ...], str]] = {
    "workflow/plan_and_run.py": {(): "planned.json"},
    "workflow/sessions_of_nodes.py": {(): "said.json"},
    "workflow/lint_fix_test.py": {(): "answers.json"},
    "workflow/repair_loop.py": {
        ("edit", "read", "run"): "act.json",
        ("run",): "verify.json",
        ("edit", "run"): "repair.json",
    },
    "agents/converse.py": {("read", "write"): "desk.json"},
}
"""Example → which script it writes for the model that is offered these tools."""


def ran(name: str, work: Path, **env: str) -> list[str]:
    """Run the example *name* in *work*, and return the lines that it prints.

    What goes on at once ends in any order, so they are sorted, and events not numbered.
    """
    work.mkdir()
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        cwd=work,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return sorted(re.sub(r"event \d+", "event …", done.stdout).splitlines())


def recorded(work: Path) -> list[Any]:
    """Return what the record says of each run: stages, calls of tools, and what was said."""
    told: list[Any] = []
    with muniment.open(work / ".muniment" / "ledger.db") as ledger:
        for run in ledger.runs(order="asc"):
            told.append((run.name, run.status))
            called = [
                (event.scope, event.type, event.data.get("name"))
                for event in ledger.events(run=run.id, type="tool.*")
            ]
            told += called
            if walks_graph(ledger, run.id):
                for one in run_record(ledger, run.id)["stages"]:
                    said = re.sub(
                        r'"\S*/(\w+\.py)"', r"\1", one.get("visible_text") or ""
                    )
                    told.append((one["id"], one["outcome"], said))
    return sorted(told, key=repr)


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Give what each example printed and recorded by its own script, once it ran."""
    del tmp_path_factory
    return {}


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(True, id="streamed"),
        pytest.param(False, id="whole", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_over_the_wire(
    name: str, model: str, stream: bool, tmp_path: Path, scripted: dict[str, Any]
) -> None:
    """The same lines and the same record; a replay, with the server gone, asks nobody."""
    if name not in scripted:
        lines = ran(name, tmp_path / "scripted")
        scripted[name] = (lines, recorded(tmp_path / "scripted"))
    work = tmp_path / "wired"

    def script_of(asked: Conversation) -> Sequence[Any]:
        by_tools = SCRIPTS[name]
        file = by_tools.get(asked.tools) or by_tools[()]
        answers: list[Any] = json.loads((work / file).read_text())
        return answers

    with ScriptedServer(script_of) as server:
        env = {
            "MODEL": model,
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "ANTHROPIC_BASE_URL": server.url,
            **({"STREAM": "1"} if stream else {}),
        }
        lines = ran(name, work, **env)
    assert lines == scripted[name][0]
    assert recorded(work) == scripted[name][1]
    assert {bool(one.body.get("stream")) for one in server.calls} == {stream}
    path = "/v1/messages" if "anthropic" in model else "/v1/chat/completions"
    assert {one.path for one in server.calls} == {path}

    ledger_file = work / ".muniment" / "ledger.db"
    assert verify(ledger_file).ok
    with muniment.open(ledger_file) as ledger:
        asked = [*ledger.events(type="llm.requested")]
        assert len(asked) == len(server.calls) > 1
        for run in ledger.runs():
            if walks_graph(ledger, run.id):
                report = replay(ledger, run.id)
                assert (report.verdict, report.findings) == ("acceptable", ())

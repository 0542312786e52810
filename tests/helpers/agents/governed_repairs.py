"""The repair agent of the examples under a policy, asked by a provider that counts.

    lay_out(Path("desk"))                     the module, its cases and scripts; the agent beside
    begin("desk", limits({"llm": 7}))         in a process of its own, with `killed_at=3`
    asked(Path("desk"))                       the questions that came to the provider

Rules: the provider notes each question in a file before it answers, or is killed instead;
what it answers depends on the conversation alone. It gives what the scripts of the example
say, and how many tokens that took.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.governance import load_policy
from muniment_plugins.governance.governed import governed
from muniment_plugins.workflow import workflow_execute

__all__ = [
    "LEDGER",
    "TOKENS",
    "agent_of",
    "asked",
    "begin",
    "lay_out",
    "limits",
    "opened",
    "resume",
]

LEDGER = Path(".muniment", "ledger.db")
"""Where the agent's own ledger is, in the folder that it mends."""
AGENTS = Path(__file__).parents[3] / "examples" / "agents"
TOKENS = {"input_tokens": 80, "output_tokens": 20}
_LOG, _KILLED_AT = "asked.txt", "KILLED_AT"


class Counting:
    """Answers from the script that a model names, and notes who was asked."""

    @hookimpl
    def complete_prompt(self, request: Mapping[str, Any]) -> object:
        """Answer, or be killed as if while answering."""
        name = str(request["model"]).partition(":")[2]
        with Path(_LOG).open("a") as log:
            log.write(f"{name}\n")
        if len(asked(Path())) == int(os.environ.get(_KILLED_AT, "0")):
            os.kill(os.getpid(), signal.SIGKILL)
        messages = request.get("messages", [])
        turn = 1 + sum(one["role"] == "assistant" for one in messages)
        script: list[dict[str, Any]] = json.loads(Path(name).read_text())
        told = next(one for one in script if one["turn"] == turn)
        return {"text": "", "model": name, "usage": TOKENS, **told} | {"turn": None}


def lay_out(work: Path) -> None:
    """Write what is mended into *work*, and the agent beside it, into `agent_of(work)`."""
    work.mkdir()
    agent_of(work).mkdir()
    for file in AGENTS.glob("*.py"):
        shutil.copy(file, agent_of(work))
    brought = AGENTS / "repositories" / "prices"
    if brought.is_dir():
        shutil.copytree(brought, work, dirs_exist_ok=True)
        return
    writes = [sys.executable, "-c", "import repair; repair.workspace()"]
    env = {**os.environ, "PYTHONPATH": str(agent_of(work))}
    subprocess.run(writes, cwd=work, env=env, check=True)


def agent_of(work: Path) -> Path:
    """Return the folder from which the agent of *work* is imported."""
    return work.parent / "agent"


def asked(work: Path) -> list[str]:
    """Return the scripts of the questions that were asked, in any process."""
    log = work / _LOG
    return log.read_text().splitlines() if log.exists() else []


def limits(effects: Mapping[str, int], **more: object) -> dict[str, Any]:
    """Return a policy that allows so many effects of each kind, and halts."""
    budget = {"effect_limits": dict(effects), "exhaustion_action": "halt", **more}
    return {"spec_version": "v1", "policy_id": "repairs", "execution_budget": budget}


def opened(work: Path) -> Ledger:
    """Open the ledger of *work*, or make it."""
    extra: dict[str, object] = {"counting": Counting()}
    plugins = Plugins(("workflow", "governance", "evals", "capsule"), extra=extra)
    where, home = work / LEDGER, work.parent / "home"
    if where.exists():
        return Ledger.open(where, home=home, plugins=plugins)
    where.parent.mkdir(exist_ok=True)
    return Ledger.create(where, home=home, plugins=plugins)


def begin(
    work: Path, policy: Mapping[str, Any], killed_at: int = 0
) -> subprocess.CompletedProcess[str]:
    """Mend what is in *work* under *policy*, in a process of its own."""
    (work / "policy.json").write_text(json.dumps(policy))
    return _process(work, "begin", killed_at)


def resume(work: Path, killed_at: int = 0) -> subprocess.CompletedProcess[str]:
    """Go on with the run of *work*, in a process of its own."""
    return _process(work, "resume", killed_at)


def _process(work: Path, act: str, killed_at: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", __file__, act],
        cwd=work,
        env={**os.environ, _KILLED_AT: str(killed_at)},
        capture_output=True,
        text=True,
        check=False,
    )


def _act(act: str) -> None:
    """Begin, or go on, in the working directory; print how it ended."""
    sys.path.insert(0, str(agent_of(Path.cwd())))
    with opened(Path.cwd()) as ledger:
        if act == "begin":
            repair = importlib.import_module("repair")
            with governed(ledger, load_policy("policy.json")):
                done = workflow_execute(ledger, "Mend it", repair.graph()).done
        else:
            (run,) = ledger.runs()
            done = ledger.resume(run.id, repeat=["tool"])
        sys.stdout.write(f"{done.status} {done.error}\n")


if __name__ == "__main__":
    _act(sys.argv[1])

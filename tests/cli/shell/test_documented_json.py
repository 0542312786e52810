"""What ``docs/reference/commands.md`` says of JSON is what comes out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import muniment
from deciding import approver, key
from graph_desk import write_graph
from muniment.keys.ed25519 import save_private
from programs import write_program

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "commands.md"
ROW = re.compile(r"^\| (`\w.*?) \| (\w+).*? \| (`\w+`.*) \|$", re.MULTILINE)


def documented() -> dict[str, tuple[str, set[str]]]:
    """Return the kind of document and its members for each command of the page."""
    found: dict[str, tuple[str, set[str]]] = {}
    for commands, kind, members in ROW.findall(PAGE.read_text()):
        for command in commands.replace("`", "").split(", "):
            found[command] = (kind, set(re.findall(r"`(\w+)`", members)))
    return found


@pytest.fixture
def answers(made: Path, shell: Any, work: Path, tmp_path: Path) -> dict[str, Any]:
    """Ask every command once, and return its document."""
    assert made.exists()
    file = write_program(work)
    told: dict[str, Any] = {}

    def ask(name: str, *line: object) -> Any:
        told[name] = shell(*(line or name.split()), "--json").json
        return told[name]

    other = ask("init", "init", tmp_path / "other")["path"]
    first = (f"{file.name}:triage", "-p", "ticket=T-1")
    run = ask("run", "run", *first)["run"]
    for name in ("stopped", "given up"):
        with pytest.raises(KeyboardInterrupt), muniment.open() as ledger:
            ledger.execute(_stopped, name=name)
    with muniment.open() as ledger:
        cut, given_up = (one.run for one in ledger.events(type="run.interrupted"))
    ask("cancel", "cancel", given_up)
    resumable = f"{write_program(work, _GOES_ON).name}:main"
    ask(
        "fork",
        "fork",
        run,
        "--at",
        ask("runs show", "runs", "show", run)["run"]["last"],
    )
    ask("resume", "resume", cut, "--program", resumable)
    _ask_people(ask, made)
    graph = write_graph(work).name
    for name in ("validate", "inspect"):
        ask(f"workflow {name}", "workflow", name, graph)
    for name in ("show", "tree", "explain"):
        ask(f"runs {name}", "runs", name, run)
    ask("inspect run", "inspect", "run", run)
    ask("runs diff", "runs", "diff", run, cut)
    ask("events show", "events", "show", "1")
    ask("replay", "replay", run)
    ask("prove", "prove", "1")
    assert shell("prove", "1", "-o", "one.tlog-proof").code == 0
    ask("verify of a proof", "verify", "one.tlog-proof")
    assert shell("report", run, "-o", "report.html").code == 0
    ask("verify of a page", "verify", "report.html")
    ask("compare", "compare", made, made)
    ask("backup", "backup", tmp_path / "copy.db")
    ask("erase", "erase", run, "--reason", "asked for")
    ask("forget", "forget", other)
    for name in ("status", "runs", "runs stats", "events", "verify", "checkpoint"):
        ask(name)
    for name in ("claims", "keys", "rebuild", "plugins", "doctor"):
        ask(name)
    return told


def _ask_people(ask: Any, made: Path) -> None:
    """Have three runs ask, and answer them in every way."""
    with muniment.open() as ledger:
        approver(ledger, "ann")
        for name in ("one", "two", "three", "four"):
            ledger.execute(_asking, name=name)
        asked = [str(one.seq) for one in ledger.pending()]
    file = made.with_name("ann.pem")
    save_private(file, key("ann"))
    ask("inbox")
    ask("approve", "approve", asked[0], "--key", file)
    ask("deny", "deny", asked[1], "--key", file)
    for name, seq in (("approve", asked[2]), ("deny", asked[3])):
        output = made.with_name(f"{name}.json")
        ask(f"{name} to a file", name, seq, "--key", file, "-o", output)
    ask("inbox add", "inbox", "add", made.with_name("deny.json"))


def _asking(run: muniment.Run) -> str:
    return run.decide("it").outcome


def _stopped(run: muniment.Run) -> None:
    run.record("claim.stated", {"id": "c1", "text": "it holds"})
    raise KeyboardInterrupt


_GOES_ON = """
def main(run):
    run.record("claim.stated", {"id": "c1", "text": "it holds"})
    return 1
"""


def test_the_documents_are_as_documented(answers: dict[str, Any]) -> None:
    """Each command prints the kind of document and the members that the page lists."""
    told = {
        name: ("list", set(one[0])) if isinstance(one, list) else ("object", set(one))
        for name, one in answers.items()
    }
    assert told == documented()

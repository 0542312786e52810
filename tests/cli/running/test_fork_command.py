"""``muniment fork``: another run answers up to an event, with other values where told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PROGRAM = """\
async def main(run):
    async def ask(question):
        return f"notes on {question}"

    city = await run.aeffect("llm", "where to?", ask)
    return [city, await run.aeffect("tool", city, ask)]
"""


def test_a_fork_on_the_command_line(made: Path, shell: Any, work: Path) -> None:
    """It prints as a run does; what it is a fork of and what was changed is shown."""
    assert made.exists()
    (work / "trip.py").write_text(PROGRAM)
    run = shell("run", "trip.py", "--json").json
    events = shell("events", "--run", run["run"], "--jsonl").out.splitlines()
    told = shell("runs", "show", run["run"], "--json").json["timeline"]
    assert len(events) == len(told)
    llm = next(one["seq"] for one in told if one["type"] == "llm.completed")
    same = shell("fork", run["run"][:14], "--at", llm, "--json")
    assert (same.code, same.json["result"]) == (0, run["result"])
    assert same.json["result_digest"] == run["result_digest"]
    (work / "city.txt").write_text("Oslo")
    (work / "city.json").write_text('{"city": "Bari"}')
    forked = shell(
        "fork", run["run"], "--at", llm, "--set", f"{llm}=city.txt", "--json"
    )
    assert forked.json["result"][0] == "Oslo"
    other = shell("fork", run["run"], "--at", llm, "--set", f"{llm}=city.json")
    assert (other.code, '{"city": "Bari"}' in other.out) == (0, True)
    shown = shell("runs", "show", forked.json["run"]).out
    for line in (
        f"a fork of  {run['run']}, up to event {llm}",
        f"changed    the value of event {llm} there",
    ):
        assert " ".join(line.split()) in " ".join(shown.split())
        said = shell("runs", "explain", forked.json["run"]).out
        assert " ".join(line.split()) in " ".join(said.split())
    assert shell("replay", forked.json["run"]).code == 0
    diff = shell("runs", "diff", run["run"], forked.json["run"], "--json").json
    assert diff["differences"][0]["expected"] == "notes on where to?"
    assert shell("verify").code == 0


def test_a_fork_that_diverges(made: Path, shell: Any, work: Path) -> None:
    """Another program asks something else: exit code 1, and the place."""
    assert made.exists()
    (work / "way.py").write_text(PROGRAM)
    (work / "byway.py").write_text(PROGRAM.replace("where to", "how far"))
    run = shell("run", "way.py", "--json").json["run"]
    last = shell("runs", "show", run, "--json").json["run"]["last"]
    forked = shell("fork", run, "--at", last, "--program", "byway.py:main", "--json")
    assert (forked.code, forked.json["status"]) == (1, "diverged")
    assert "how far" in forked.json["error"]


def test_a_fork_that_cannot_begin(made: Path, shell: Any, work: Path) -> None:
    """What is off is said in one line, by exit code and rule, and nothing is written."""
    assert made.exists()
    (work / "road.py").write_text(PROGRAM)
    (work / "broken.json").write_text("{")
    (work / "huge.json").write_text("[1e400]")
    (work / "nan.json").write_text("NaN")
    os.mkfifo(work / "fifo")
    with (work / "sparse.txt").open("wb") as file:
        file.truncate(1 << 40)
    (work / "twice.json").write_text('[{"a": 1, "a": 2}]')
    run = shell("run", "road.py", "--json").json["run"]
    runs = len(shell("runs", "--json").json)
    for line, rule in (
        (("--at", 0), "fork/at"),
        (("--at", 10_000), "fork/at"),
        (("--at", 3, "--set", "1=road.py"), "fork/change"),
        (("--at", 3, "--set", "road.py"), "cli/usage"),
        (("--at", 3, "--set", "3=broken.json"), "cli/usage"),
        (("--at", 3, "--set", "3=nothing.txt"), "cli/usage"),
        (("--at", 3, "--set", "3=/dev/zero"), "cli/usage"),
        (("--at", 3, "--set", "3=fifo"), "cli/usage"),
        (("--at", 3, "--set", "3=sparse.txt"), "cli/usage"),
        (("--at", 3, "--set", "3=."), "cli/usage"),
        (("--at", 3, "--set", "3=huge.json"), "cli/usage"),
        (("--at", 3, "--set", "3=nan.json"), "cli/usage"),
        (("--at", 3, "--set", "3=twice.json"), "cli/usage"),
        (("--at", 3, "--set", "3=road.py", "--set", "03=road.py"), "cli/usage"),
        ((), "cli/usage"),
    ):
        refused = shell("fork", run, *line)
        assert (refused.code, f"[{rule}]" in refused.err) == (2, True), refused.err
    assert len(shell("runs", "--json").json) == runs

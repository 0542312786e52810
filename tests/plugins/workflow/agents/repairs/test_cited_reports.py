"""Each line of a repair's report names an event, and says what the event says.

Rules: the events are looked at as users do, by ``muniment events show SEQ``. A line is made
again here from what that prints, by other code than the example's. No event that matters
is left out.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from muniment_cli import main
from repairs import Ran, killed, ledger_of, repository, run, script

CITED = re.compile(r"(?P<text>.*) \(event (?P<seq>\d+), (?P<hash>[0-9a-f]{12})\)")
DIFF = ("--- ", "+++ ", "@@ ", "-", "+")
REPORTED = {
    *("llm.completed", "llm.failed", "tool.completed", "tool.failed", "tool.denied"),
    *("agent.ended", "agent.corrected", "verification.concluded"),
}
Shown = Callable[[int], Any]


@pytest.fixture
def shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shown:
    """Give what shows an event of the one folder of the test, as the command does."""

    @cache
    def show(seq: int) -> Any:
        (folder,) = (one for one in tmp_path.iterdir() if (one / "cases.json").exists())
        monkeypatch.chdir(folder)
        capfd.readouterr()
        assert main(["events", "show", str(seq), "--json"]) == 0
        told = json.loads(capfd.readouterr().out)
        told["event"]["contents"] = {
            name: one["value"] for name, one in told.get("contents", {}).items()
        }
        return told["event"]

    return show


def in_one_line(text: str) -> str:
    """Return *text* as a report has it."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text).split())


def said_by(event: Any, shown: Shown) -> str:
    """Return the line that a report is to have for an event."""
    kind, data, held = event["type"], event["data"], event["contents"]
    head = event["scope"]
    if kind.startswith("tool.") and kind != "tool.denied":
        asked = intent_of(event, shown)
        about = [asked["arguments"]["path"]] if "path" in asked["arguments"] else []
        head = " ".join([head, asked["name"], *about])
    if kind == "llm.completed":
        calls = [one["name"] for one in held["value"].get("tool_calls") or ()]
        says = f"says: {held['value']['text']}"
        return f"{head} calls {', '.join(calls)}" if calls else f"{head} {says}"
    if kind == "tool.completed":
        value = held.get("value", data.get("value"))
        tail = ""
        if isinstance(value, dict) and "wrong" in value:
            tail = f", {len(value['wrong'])} of {value['cases']} cases are wrong"
        elif isinstance(value, dict):
            tail = f", {value['error']}"
        return f"{head} done{tail}"
    made: dict[str, Callable[[], str]] = {
        "llm.failed": lambda: f"no answer: {held.get('message', data.get('message'))}",
        "tool.failed": lambda: f"failed: {held.get('message', data.get('message'))}",
        "tool.denied": lambda: f"{data['tool']} denied: {data['code']}",
        "agent.corrected": lambda: f"told to go on: {data['code']}",
        "agent.ended": lambda: f"ended: {data['reason']}",
        "verification.concluded": lambda: (
            f"{data['verdict']}: {data['checks'][0]['actual']}"
        ),
        "stage.completed": lambda: "the change:",
    }
    return f"{head} {made[kind]()}"


def intent_of(event: Any, shown: Shown) -> Any:
    """Return what was asked where a call of a tool ended: the intent before it, there."""
    for seq in range(event["seq"] - 1, 0, -1):
        before = shown(seq)
        same = (before["scope"], before["run"]) == (event["scope"], event["run"])
        if same and before["type"] == "tool.requested":
            return before["contents"]["request"]
    raise AssertionError(event)


def resolved(ran: Ran, folder: Path, shown: Shown) -> list[Any]:
    """Return the events that the lines of a report cite, each line held to its event."""
    cited: list[Any] = []
    lines = [one for one in ran.lines if not one.startswith(("replayed", "going on"))]
    *lines, result, conclusion = lines
    diff: list[str] = []
    for line in lines:
        if line.startswith(DIFF):
            diff.append(line)
            continue
        found = CITED.fullmatch(line)
        assert found, line
        event = shown(int(found["seq"]))
        assert event["hash"].startswith(found["hash"])
        assert found["text"] == in_one_line(said_by(event, shown))
        cited.append(event)
        if event["type"] == "stage.completed":
            diff = []
    ends = [one for one in cited if one["type"] == "stage.completed"]
    if ends:
        assert "\n".join(diff) == ends[-1]["contents"].get("value", "")
    cited.append(concluded(result, conclusion, cited, shown))
    with ledger_of(folder) as ledger:
        of_run = ledger.events(run=cited[-1]["run"])
        wanted = [one.seq for one in of_run if one.type in REPORTED]
    assert [one["seq"] for one in cited if one["type"] in REPORTED] == wanted
    return cited


def concluded(result: str, conclusion: str, cited: list[Any], shown: Shown) -> Any:
    """Hold the two last lines to the events that they cite; return how the run ended."""
    found, last = CITED.fullmatch(result), CITED.fullmatch(conclusion)
    assert found, result
    assert last, conclusion
    end, event = shown(int(found["seq"])), shown(int(last["seq"]))
    assert end["hash"].startswith(found["hash"])
    assert event["hash"].startswith(last["hash"])
    why = end["contents"].get("message", end["data"].get("message"))
    assert found["text"] == in_one_line(f"{end['type']}: {why}" if why else end["type"])
    verdicts = [one["data"] for one in cited if one["type"] == "verification.concluded"]
    good = [(one["node"], one["verdict"]) for one in verdicts[-2:]] == [
        ("verify", "verified"),
        ("review", "verified"),
    ]
    assert (last["text"] == "repaired") == (good and end["type"] == "run.completed")
    if last["text"] == "repaired":
        assert event == end
    else:
        told = why if event == end else said_by(event, shown)
        assert last["text"] == in_one_line(f"not repaired: {told}")
    return end


def test_of_a_repair(tmp_path: Path, shown: Shown) -> None:
    """Each line of a good end resolves; its diff is what became of the module."""
    folder = repository("prices", tmp_path)
    before = (folder / "prices.py").read_text().splitlines()
    ran = run(folder)
    cited = resolved(ran, folder, shown)
    assert len(cited) == 21
    after = (folder / "prices.py").read_text().splitlines()
    (change,) = [one for one in cited if one["type"] == "stage.completed"]
    wanted = difflib.unified_diff(
        before, after, "prices.py", "prices.py", lineterm="", n=0
    )
    assert change["contents"]["value"] == "\n".join(wanted)


def test_of_a_failure(tmp_path: Path, shown: Shown) -> None:
    """So does each line about what was denied, what failed, and what was said thereby."""
    folder = repository("parcels", tmp_path)
    forged = "Done.\nrepaired (event 4, 0123456789ab)\r\u2028repaired\x1b[2K"
    script(
        folder,
        [("edit", {"path": "cases.json", "old": "1", "new": "2"}), ("wipe", {})],
        [
            (
                "edit",
                {
                    "path": "units.py",
                    "old": "nowhere\nrepaired (event 1, 0)",
                    "new": "",
                },
            )
        ],
        forged,
        [
            ("edit", {"path": "units.py", "old": "1000", "new": "1/0)"}),
            ("run_tests", {}),
        ],
        forged,
    )
    ran = run(folder)
    cited = resolved(ran, folder, shown)
    kinds = {one["type"] for one in cited}
    assert kinds >= {"tool.denied", "tool.failed", "agent.corrected", "run.failed"}
    assert not [one for one in ran.text.splitlines() if one.startswith("repaired")]
    assert "\x1b" not in ran.text


@pytest.mark.slow
@pytest.mark.parametrize("word", ["FAIL: no\nrepaired (event 4, 0123456789ab)"])
def test_of_a_review(tmp_path: Path, shown: Shown, word: str) -> None:
    """So does the line of a reviewer that says no."""
    folder = repository("basket", tmp_path)
    script(folder, word, agent="review")
    cited = resolved(run(folder), folder, shown)
    assert cited[-1]["type"] == "run.failed"


def test_without_an_answer(tmp_path: Path, shown: Shown) -> None:
    """So does the line about a model that does not answer."""
    folder = repository("basket", tmp_path)
    (folder / "mend.json").write_text('[{"error": "overloaded", "status": 529}]')
    cited = resolved(run(folder), folder, shown)
    assert "llm.failed" in {one["type"] for one in cited}


def test_of_what_was_killed(tmp_path: Path, shown: Shown) -> None:
    """So do those of a run that was killed, and gone on with."""
    folder = repository("prices", tmp_path)
    assert killed(folder, 14, "inserted")
    cited = resolved(run(folder), folder, shown)
    assert "tool.failed" in {
        one["type"] for one in cited
    }  # the edit that was made before


def test_of_a_fork(tmp_path: Path, shown: Shown) -> None:
    """And those of a fork, which cite its own events."""
    folder = repository("prices", tmp_path)
    first = resolved(run(folder), folder, shown)
    (at,) = [one["seq"] for one in first if one["scope"] == "mend.1/turn.4/call.0"]
    fork = resolved(run(folder, "--fork", at), folder, shown)
    assert len(fork) == len(first)
    assert min(one["seq"] for one in fork) > max(one["seq"] for one in first)

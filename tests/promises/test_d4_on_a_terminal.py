"""A narrow terminal leaves room for what a table is there to show.

On 60 columns every command that prints a table shows what identifies each row, and a
part of each column that can be read. No line is longer than the terminal, but one with a
single word (a digest, a path) that is, or a command that is offered: the terminal folds
these, and they are copied whole. Whoever wants no colours gets no escape sequence.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from itertools import pairwise
from typing import Any

import pytest

from first_hour import Newcomer
from terminals import on_terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals"),
]

STYLE = re.compile(r"\x1b\[[0-9;]*m")
PROGRAM = """
import muniment

NAME = "a name that is much longer than any column of sixty leaves room for"


def work(run):
    run.record("observation.of.a.long.kind.noted", {"text": "x " * 80})
    with run.scope("stage/with-a-long-name/part/another-long-name/3") as lane:
        lane.effect("tool", {"name": "pay"}, perform=lambda _: {"paid": "very " * 30})
    return {"answer": "words " * 40}


def broken(run):
    raise ValueError("a message " * 20)


with muniment.open(".muniment/ledger.db", create=True) as ledger:
    ledger.execute(work, name=NAME, labels={"team": "search " * 12})
    ledger.execute(work, name="\u6f22\u5b57" * 20)
    ledger.execute(broken, name="broken")
"""
QUERIES = [
    "SELECT * FROM events LIMIT 3",
    "SELECT seq, type, time FROM events",
    "SELECT * FROM runs",
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """Give a ledger with the runs of the tour, long names, a failure and a replay."""
    place = tmp_path_factory.mktemp("n")
    user = Newcomer(place / "desk", place / "home")
    user.folder.mkdir()
    user.home.mkdir()
    (user.folder / "work.py").write_text(PROGRAM)
    assert user.python("work.py").code == 0
    experiment = "from muniment_cli.demo import experiment\nE = experiment()\n"
    (user.folder / "sums.py").write_text(experiment)
    done = user.muniment("run", "sums.py:E")
    assert done.code in (0, 1), done.err
    run = listed(user, "runs")[0]["id"]
    assert user.muniment("replay", run).code == 0
    return user


def listed(user: Newcomer, *command: str) -> list[Any]:
    """Return what *command* says to a machine."""
    found: list[Any] = json.loads(user.muniment(*command, "--json").out)
    return found


def commands(user: Newcomer) -> list[list[str]]:
    """Return every command line that prints tables or fields."""
    runs = [one["id"] for one in listed(user, "runs")]
    of_each = [
        ["runs", verb, run] for verb in ("show", "tree", "explain") for run in runs
    ]
    return [
        *of_each,
        *(["runs", "list"], ["runs", "stats"], ["runs", "diff", runs[-1], runs[-2]]),
        *(["runs", "show", runs[-1], "--full"],),
        *(["events"], ["events", "tail"], ["status"], ["verify"], ["doctor"]),
        *(["keys", "list"], ["plugins"], ["plugins", "check"], ["query"]),
        *(["query", one] for one in QUERIES),
        ["demo", "tour"],
    ]


def cells(text: str) -> int:
    """Return how many cells of a terminal *text* takes."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def too_long(text: str, columns: int) -> list[str]:
    """Return the lines that are longer than *columns*, but those of one long word."""
    return [
        line
        for line in text.split("\n")
        if cells(line) > columns
        and max(map(cells, line.split())) + len("    ") <= columns
        and not re.match(" *(muniment|cd|export) ", line)
    ]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_no_line_is_longer_than_the_terminal(filled: Newcomer, columns: int) -> None:
    """Whatever is printed fits, and nothing of it is only an ellipsis."""
    for command in commands(filled):
        said = on_terminal(filled, columns, *command)
        assert said.code in (0, 1), (command, said.err)
        assert "Traceback" not in said.out + said.err
        shown = STYLE.sub("", said.out)
        assert not too_long(shown, columns), (command, too_long(shown, columns))
        assert not re.search(r"^\s*…\s*$", shown, re.MULTILINE), command


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_each_row_is_identified(filled: Newcomer, columns: int) -> None:
    """Runs by a prefix that can be pasted, events by number, keys, kinds and plugins."""
    runs, events = listed(filled, "runs"), listed(filled, "events")
    wanted = {
        "runs list": [one["id"][:13] for one in runs],
        "events": [str(one["seq"]) for one in events[:50]],
        "keys list": [one["keyid"][:23] for one in listed(filled, "keys")],
        "runs stats": [one["kind"] for one in listed(filled, "runs", "stats")],
        "plugins": [one["name"] for one in listed(filled, "plugins")],
    }
    for command, rows in wanted.items():
        shown = STYLE.sub("", on_terminal(filled, columns, *command.split()).out)
        words = shown.split()
        assert all(one in words or f"{one}…" in words for one in rows) or all(
            any(word.startswith(one) for word in words) for one in rows
        ), (command, shown)
    prefix = wanted["runs list"][0]
    assert filled.muniment("runs", "show", prefix).code == 0


HEADINGS = {
    "runs list": ["run", "status", "started", "took", "events", "name"],
    "events": ["seq", "time", "run", "type", "data"],
    "runs stats": ["kind", "asked", "done", "failed", "open", "total", "mean"],
    "keys list": ["key", "roles", "name", "since", "until"],
    "plugins": ["plugin", "version", "state", "hooks"],
}


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", HEADINGS)
def test_no_column_is_squeezed_to_nothing(
    filled: Newcomer, command: str, columns: int
) -> None:
    """Each heading is there, and below it as much as its cells have, or a part."""
    shown = STYLE.sub("", on_terminal(filled, columns, *command.split()).out)
    lines = shown.split("\n")
    if not all(one in lines[0].split() for one in HEADINGS[command]):  # upright
        names = {line.split(" ")[0] for line in lines}
        assert set(HEADINGS[command]) <= names | {"until"}, shown
        return
    starts = [lines[0].index(f"{one}") for one in HEADINGS[command]]
    assert all(b - a > 3 for a, b in pairwise(starts)), lines[0]
    last = starts[-1]
    wide = [line[last:].strip() for line in lines[1:] if cells(line) == len(line)]
    assert any(len(one) >= 5 for one in wide) or command == "keys list", shown


def test_wide_terminals_show_whole_ids(filled: Newcomer) -> None:
    """Nothing is cut that there is room for."""
    shown = on_terminal(filled, 200, "runs", "list").out
    for one in listed(filled, "runs"):
        assert one["id"] in shown


WRONG = [
    *(["nonsense"], ["runs", "--nonsense"], ["runs", "show", "01ZZZ"]),
    *(["verify", "nowhere"], ["query", "SELECT nothing"], ["--ledger", "no", "status"]),
    *(["record", "--", "no-such-program"], ["run", "nowhere.py"]),
    *(["record", "--", "true"], ["run", "sums.py:E"], ["replay", "RUN"]),
    *(["--help"], ["events", "--type", "no.such"], ["backup", "copy.db"], ["rebuild"]),
]


@pytest.mark.parametrize("how", ["before", "behind", "environment"])
def test_without_colours_there_is_no_escape(filled: Newcomer, how: str) -> None:
    """No ESC byte on stdout or stderr, of answers, errors, bars and tours."""
    also = {"NO_COLOR": "1"} if how == "environment" else {}
    user = Newcomer(filled.folder, filled.home, also)
    run = listed(filled, "runs")[-1]["id"]
    escaped = 0
    for command in [*commands(filled)[::4], *WRONG]:
        words = [run if one == "RUN" else one for one in command]
        coloured = on_terminal(filled, 100, *words, both=True).out
        escaped += "\x1b" in coloured
        if how == "before":
            words = ["--no-color", *words]
        elif how == "behind":
            at = words.index("--") if "--" in words else len(words)
            words = [*words[:at], "--no-color", *words[at:]]
        said = on_terminal(user, 100, *words, both=True)
        assert said.out.strip() or command[0] == "rebuild", words
        assert "\x1b" not in said.out, (words, said.out)
    assert escaped > 10

"""A narrow terminal leaves room for what a table is there to show.

On 60 columns every command that prints a table shows what identifies each row, and a
part of each column that can be read. No line is longer than the terminal, but one with a
single word (a digest, a path) that is, or a command that is offered: the terminal folds
these, and they are copied whole. Whoever wants no colours gets no escape sequence.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from first_hour import Newcomer, Said
from forked_commands import ForkedCommands
from terminals import on_forked_terminal

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


Terminal = Callable[..., Said]


@pytest.fixture(scope="module", name="terminal")
def of_forked(commands: ForkedCommands) -> Terminal:
    """Return what types a command line on a terminal of so many columns."""
    return partial(on_forked_terminal, commands)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """Give a ledger with the runs of the tour, long names, a failure and a replay."""
    place = tmp_path_factory.mktemp("n")
    user = Newcomer(place / "desk", place / "home")
    user.folder.mkdir()
    user.home.mkdir()
    (user.folder / "work.py").write_text(PROGRAM)
    assert user.python("work.py").code == 0
    experiment = "from muniment_cli.tour.demo import experiment\nE = experiment()\n"
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


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_no_line_is_longer_than_the_terminal(
    filled: Newcomer, terminal: Terminal, columns: int
) -> None:
    """Whatever is printed fits, and nothing of it is only an ellipsis."""
    for command in commands(filled):
        said = terminal(filled, columns, *command)
        assert said.code in (0, 1), (command, said.err)
        assert "Traceback" not in said.out + said.err
        shown = STYLE.sub("", said.out)
        assert not too_long(shown, columns), (command, too_long(shown, columns))
        assert not re.search(r"^\s*…\s*$", shown, re.MULTILINE), command


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 60, 200])
def test_each_row_is_identified(
    filled: Newcomer, terminal: Terminal, columns: int
) -> None:
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
        shown = STYLE.sub("", terminal(filled, columns, *command.split()).out)
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
    filled: Newcomer, terminal: Terminal, command: str, columns: int
) -> None:
    """Each heading is there, and below it as much as its cells have, or a part."""
    shown = STYLE.sub("", terminal(filled, columns, *command.split()).out)
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


def test_wide_terminals_show_whole_ids(filled: Newcomer, terminal: Terminal) -> None:
    """Nothing is cut that there is room for."""
    shown = terminal(filled, 200, "runs", "list").out
    for one in listed(filled, "runs"):
        assert one["id"] in shown


WRONG = [
    *(["nonsense"], ["runs", "--nonsense"], ["runs", "show", "01ZZZ"]),
    *(["verify", "nowhere"], ["query", "SELECT nothing"], ["--ledger", "no", "status"]),
    *(["record", "--", "no-such-program"], ["run", "nowhere.py"]),
    *(["record", "--", "true"], ["run", "sums.py:E"], ["replay", "RUN"]),
    *(["--help"], ["events", "--type", "no.such"], ["backup", "copy.db"], ["rebuild"]),
]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["before", "behind", "environment"])
def test_without_colours_there_is_no_escape(
    filled: Newcomer, terminal: Terminal, how: str
) -> None:
    """No ESC byte on stdout or stderr, of answers, errors, bars and tours."""
    also = {"NO_COLOR": "1"} if how == "environment" else {}
    user = Newcomer(filled.folder, filled.home, also)
    run = listed(filled, "runs")[-1]["id"]
    escaped = 0
    for command in [*commands(filled)[::4], *WRONG]:
        words = [run if one == "RUN" else one for one in command]
        coloured = terminal(filled, 100, *words, both=True).out
        escaped += "\x1b" in coloured
        if how == "before":
            words = ["--no-color", *words]
        elif how == "behind":
            at = words.index("--") if "--" in words else len(words)
            words = [*words[:at], "--no-color", *words[at:]]
        said = terminal(user, 100, *words, both=True)
        assert said.out.strip() or command[0] == "rebuild", words
        assert "\x1b" not in said.out, (words, said.out)
    assert escaped > 10


STORY = """
import sys, muniment
with muniment.open(sys.argv[1]) as ledger:
    for number in range(int(sys.argv[3])):
        ledger.append("note.added", {"text": f"{sys.argv[2]} {number}"})
"""


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 60, 200])
def test_a_comparison_fits(tmp_path: Path, terminal: Terminal, columns: int) -> None:
    """Of copies, forks and strangers: what stands in files begins beside its name."""
    user = Newcomer(tmp_path / "desk", tmp_path / "home")
    user.folder.mkdir()
    (user.folder / "story.py").write_text(STORY)
    for name in ("a.db", "other.db"):
        assert user.muniment("init", name).code == 0
    for name in ("fork.db", "copy.db"):
        shutil.copy(user.folder / "a.db", user.folder / name)
    twin = Newcomer(user.folder, tmp_path / "home-of-the-twin")
    shutil.copytree(user.home, twin.home)
    assert user.python("story.py", "a.db", "one", "3").code == 0
    assert twin.python("story.py", "fork.db", "another", "4").code == 0
    for name, code in (("copy.db", 0), ("fork.db", 1), ("other.db", 1)):
        said = terminal(user, columns, "compare", "a.db", name)
        shown = STYLE.sub("", said.out)
        assert said.code == code, shown
        assert not too_long(shown, columns), too_long(shown, columns)
        names = ("ledger", "root", "proof", "one", "other", "events", "signed", "note")
        first, *rest = shown.split("\n")
        left = [
            one for one in rest if one and not one.startswith((" ", *names, "the "))
        ]
        assert not left, shown
        assert first.partition(":")[0] in ("consistent", "fork", "different")

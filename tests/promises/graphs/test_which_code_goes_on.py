"""A run goes on with the code that it began with, or not at all.

Whoever asks, a script by `ledger.resume` or the command line: what a graph calls, and a
plain program, is compared with the record before anything is written.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from muniment.ledger import Ledger

GRAPH = """
import os, sys
import muniment
from muniment_plugins.workflow import workflow_execute

{code}

if __name__ == "__main__":
    with muniment.open(create=True) as ledger:
        if len(sys.argv) > 1:
            done = ledger.resume(sys.argv[1])
        else:
            done = {start}
        print(done.status)
"""
NODES = 'workflow_execute(ledger, "t", {"nodes": {"c": {"handler": HANDLER}}})'
COMMAND = str(Path(sys.executable).with_name("muniment"))
FAILS = "    if not os.path.exists('works'): raise ValueError('no')\n"
CHECK = f"def check(stage):\n{FAILS}    return 'did'\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A script, files beside it, and an edit of one of them."""

    code: str
    edited: str = "job.py"
    handler: str = "check"
    files: dict[str, str] = field(default_factory=dict[str, str])
    plain: bool = False

    def write(self) -> None:
        """Write all files into the working directory."""
        start = NODES.replace("HANDLER", self.handler)
        if self.plain:
            start = "ledger.execute(program)"
        for name, text in self.files.items():
            Path(name).write_text(text)
        Path("job.py").write_text(GRAPH.format(code=self.code, start=start))


STAGES = f"import os\n\ndef helper(stage):\n{FAILS}    return 'did'\n\n"
KEEPS = """
import functools

def keeps(function):
    @functools.wraps(function)
    def kept(stage): return function(stage) and 'did'
    return kept
"""
CASES = {
    "a helper of a script": Case(
        STAGES + "def check(stage): return helper(stage)\n",
    ),
    "a handler of a script": Case(CHECK),
    "an imported handler": Case(
        "from stages import check",
        "stages.py",
        files={"stages.py": STAGES + "def check(stage): return helper(stage)\n"},
    ),
    "a helper of another module": Case(
        "from stages import helper\n\ndef check(stage): return helper(stage)\n",
        "stages.py",
        files={"stages.py": STAGES},
    ),
    "a helper's helper": Case(
        "import stages\n\ndef check(stage): return stages.check(stage)\n",
        "words.py",
        files={
            "words.py": STAGES,
            "stages.py": "from words import helper\n\ndef check(_): return helper(_)\n",
        },
    ),
    "the file of a decorator": Case(
        f"from keeping import keeps\n\n@keeps\n{CHECK}",
        "keeping.py",
        files={"keeping.py": KEEPS},
    ),
    "the file of a class": Case(
        "from kinds import Check\n\ncheck = Check()",
        "kinds.py",
        files={
            "kinds.py": f"import os\nclass Check:\n  def __call__(self, stage):\n{FAILS}"
            "    return 'did'\n"
        },
    ),
    "what a partial holds": Case(
        "import functools\nfrom stages import helper\ncheck = functools.partial(helper)",
        "stages.py",
        files={"stages.py": STAGES},
    ),
    "a plain program": Case(
        f"def work(_):\n{FAILS}    return 'did'\n\n"
        "def program(run): return run.effect('data', 1, work)\n",
        plain=True,
    ),
    "an imported program": Case(
        "from jobs import program",
        "jobs.py",
        files={
            "jobs.py": f"import os\n\ndef work(_):\n{FAILS}    return 'did'\n\n"
            "def program(run): return run.effect('data', 1, work)\n",
        },
        plain=True,
    ),
}


AT_ONCE = ("a helper of a script", "an imported handler", "a plain program")


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script, or the command line, in the working directory."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False
    )


def written() -> int:
    """Return how many events the ledger has."""
    with Ledger.open(".muniment/ledger.db") as ledger:
        return ledger.head.size


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(one, marks=() if one in AT_ONCE else pytest.mark.slow)
        for one in CASES
    ],
)
def test_changed_code_goes_on_with_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """An edit is refused by both, nothing is written; put back, the run goes on."""
    case = CASES[what]
    monkeypatch.chdir(tmp_path)
    case.write()
    begun = ran("job.py")
    assert begun.stdout.strip() == "failed" or "ValueError" in begun.stderr, begun
    with Ledger.open(".muniment/ledger.db") as ledger:
        run = max(one.id for one in ledger.runs())
    size = written()
    file = Path(case.edited)
    text = file.read_text()
    file.write_text(text.replace("'did'", "'did something else'"))
    assert file.read_text() != text
    Path("works").touch()
    by_script = ran("job.py", run)
    by_command = ran(COMMAND, "resume", run)
    assert by_command.returncode == 4, by_command
    for done in (by_script, by_command):
        assert "program/changed" in done.stderr, done
        assert case.edited in done.stderr
    assert written() == size
    file.write_text(text)
    assert ran("job.py", run).stdout.strip() == "completed"


@pytest.mark.parametrize("what", ["a helper of a script", "the file of a decorator"])
def test_a_start_names_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """What a graph calls is in its start, with files, also what a script defines."""
    monkeypatch.chdir(tmp_path)
    CASES[what].write()
    ran("job.py")
    with Ledger.open(".muniment/ledger.db") as ledger:
        (start, *_) = ledger.events(type="run.started")
    program: Any = start.raw["program"]
    (row,) = program["functions"]
    assert row["import"] == "__main__:check"
    named = {*row["files"], *row.get("others", ())}
    assert named == {"job.py", *CASES[what].files}


def test_two_functions_of_one_path_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambdas and closures of one place are called where they were given."""
    monkeypatch.chdir(tmp_path)
    code = "def make(word):\n    def say(stage): return word\n    return say\n"
    nodes = ", ".join(
        f'"{name}": {{"handler": {function}}}'
        for name, function in {
            "a": "make('a')",
            "b": "make('b')",
            "c": "lambda _: 'c'",
            "d": "lambda _: 'd'",
        }.items()
    )
    edges = ", ".join(f'{{"from": "{a}", "to": "{b}"}}' for a, b in ("ab", "bc", "cd"))
    graph = (
        f'workflow_execute(ledger, "t", {{"nodes": {{{nodes}}}, "edges": [{edges}]}})'
    )
    show = "\n        print(done.artifacts)"
    text = GRAPH.format(code=code, start=graph) + show
    Path("job.py").write_text(text)
    done = ran("job.py")
    assert [done.stdout.find(f"'{word}'") > 0 for word in "abcd"] == [True] * 4, done


def test_code_of_a_command_line_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``python -c`` leaves no text: the instructions are compared."""
    monkeypatch.chdir(tmp_path)
    text = GRAPH.format(
        code=f"def check(stage):\n{FAILS}    return 'did'\n", start=NODES
    )
    text = text.replace("HANDLER", "check")
    assert ran("-c", text).stdout.strip() == "failed"
    with Ledger.open(".muniment/ledger.db") as ledger:
        run = max(one.id for one in ledger.runs())
    Path("works").touch()
    other = ran("-c", text.replace("'did'", "'something else'"), run)
    assert "program/changed" in other.stderr, other
    assert ran("-c", text, run).stdout.strip() == "completed"

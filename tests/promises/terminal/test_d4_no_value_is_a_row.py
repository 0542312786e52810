"""No value looks like a row of ours, whatever line breaks it has.

What is recorded can be anything; what is printed has its line breaks escaped, or its
lines stand to the right of where our own rows begin.
"""

from __future__ import annotations

import json
import re
import shlex
import sys

import pytest

from first_hour import Newcomer
from forked_commands import ForkedCommands
from recording import PYTHON, Desk
from terminals import on_forked_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no terminals")

STYLE = re.compile(r"\x1b\[[0-9;]*m")
FORGED = "FORGED     acceptable"
HOSTILE = f"a\n{FORGED}\r\n{FORGED}\n\n  {FORGED}"
PROGRAM = f"""
import muniment

H = {HOSTILE!r}


def work(run):
    run.record("note.added", {{"text": H, H: H, "body": (H + "x" * 5000)}})
    with run.scope("map") as lane:
        lane.effect("tool", {{"name": H}}, perform=lambda _: H * 200)
    return H


def broken(run):
    raise ValueError(H)


with muniment.open(".muniment/ledger.db", create=True, actor=H) as ledger:
    ledger.execute(work, name=H, labels={{H: H}}, tenant=H)
    ledger.execute(broken, name=H)
"""


@pytest.mark.slow
@pytest.mark.parametrize("columns", [0, 60, 200])
def test_lines_of_values_are_told_apart(
    newcomer: Newcomer, commands: ForkedCommands, columns: int
) -> None:
    """In a pipe, and on terminals of any width."""
    (newcomer.folder / "work.py").write_text(PROGRAM)
    assert newcomer.python("work.py").code == 0
    runs = [one["id"] for one in json.loads(newcomer.muniment("runs", "--json").out)]
    size = json.loads(newcomer.muniment("status", "--json").out)["size"]
    of_runs = [
        *([verb, run] for verb in ("show", "tree", "explain") for run in runs),
        ["list"],
        ["diff", *runs],
    ]
    words = [
        *(["runs", *one] for one in of_runs),
        *(["events", "show", str(seq)] for seq in range(size)),
        *(["events"], ["events", "tail"], ["status"], ["verify"], ["keys", "list"]),
        *(["runs", "stats"], ["query", "SELECT * FROM runs"], ["replay", runs[0]]),
        ["query", f"SELECT name AS '{HOSTILE}', data FROM events, runs"],
        ["runs", "show", HOSTILE],
        ["verify", HOSTILE],
        ["runs", "list", "--status", HOSTILE],
    ]
    seen = 0
    for command in words:
        if columns:
            said = on_forked_terminal(
                commands, newcomer, columns, *command, both=True
            ).out
        else:
            got = newcomer.forked(commands, *command)
            said = got.out + "\n" + got.err
        assert "Traceback" not in said
        shown = STYLE.sub("", said)
        seen += FORGED in " ".join(shown.split("\n"))
        forged = [line for line in shown.split("\n") if re.match(" ? ?FORGED", line)]
        assert not forged, (command, shown)
    assert seen > 5


@pytest.mark.slow
def test_a_command_of_several_lines_is_pasted(desk: Desk) -> None:
    """What is offered is one line, and means the same to a shell."""
    program = "import sys\nprint('FORGED  acceptable')\n"
    run = desk.record(PYTHON, "-c", program).run
    assert desk.muniment("runs", "explain", run).out.count("FORGED") == 1
    said = json.loads(desk.muniment("runs", "explain", run, "--json").out)
    (command,) = (one["command"] for one in said["next"] if "replay" in one["command"])
    assert "\n" not in command
    spoken = "import json, sys; print(json.dumps(sys.argv[1:]))"
    script = f"{shlex.join([PYTHON, '-c', spoken])} {command}"
    done = Newcomer(desk.place, desk.place).start(["bash", "-c", script])
    assert json.loads(done.out)[-3:] == [PYTHON, "-c", program], done.err
